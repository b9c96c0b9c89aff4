import type { Book } from '../book.ts'
import { COLUMNS, type Format } from './formats.ts'

/** How pages of books become one text. */
export interface Framing {
  /** Before the first page, between two, and after the last; without a page, `head` and `tail` are all. */
  readonly head: string
  readonly between: string
  readonly tail: string
  /** @param page as Store.list makes them: the JSON text of books, separated by commas. */
  of(page: string): string
}

/** Ends a line of CSV (RFC 4180 §2.1). */
const CRLF = '\r\n'

/** What a field cannot have unless it is in quotes (RFC 4180 §2.6). */
const NEEDS_QUOTES = /[",\r\n]/

/** Stands in a page between two books, and nowhere else: within a string the quote would be escaped (RFC 8259 §7). */
const BETWEEN = '},{"id":'

/** @returns how many books a page has; it must not be empty. */
export const booksIn = (page: string): number => page.split(BETWEEN).length

/** Those of the formats for files. */
export const framings: Readonly<Record<Format, Framing>> = {
  csv: { head: COLUMNS.join(',') + CRLF, between: '', tail: '', of: csvOf },
  ndjson: { head: '', between: '', tail: '', of: ndjsonOf },
}

function csvOf(page: string): string {
  let text = ''
  for (const { id, title, author, year } of JSON.parse(`[${page}]`) as Book[]) {
    text += `${id},${quoted(title)},${quoted(author)},${year}${CRLF}`
  }
  return text
}

/** Without quotes a text stays as it is, spaces at its ends and a formula too (RFC 4180 §2.4). */
function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function ndjsonOf(page: string): string {
  return page === '' ? '' : `${page.replaceAll(BETWEEN, '}\n{"id":')}\n`
}
