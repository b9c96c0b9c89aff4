import type { Book } from '../catalogue/book.ts'
import { COLUMNS, CRLF, csvLines, linesIn } from '../catalogue/csv-line.ts'
import type { Format } from './formats.ts'

/** How pages of books become one text. */
export interface Framing {
  /** Before the first page, between two, and after the last; without a page, `head` and `tail` are all. */
  readonly head: string
  readonly between: string
  readonly tail: string
  /** @param page as Store.list makes them: the JSON text of books, separated by commas. */
  of(page: string): string
}

/** Stands in a page between two books, and nowhere else: within a string the quote would be escaped (RFC 8259 §7). */
const BETWEEN = '},{"id":'

/** Those of the formats for files. */
export const framings: Readonly<Record<Format, Framing>> = {
  csv: { head: COLUMNS.join(',') + CRLF, between: '', tail: '', of: csvOf },
  ndjson: { head: '', between: '', tail: '', of: ndjsonOf },
}

/** The list of all books in the formats for files: which of its pages become the text, and how. */
export const wholeLists: Readonly<
  Record<Format, { readonly pages: 'json' | 'csv'; readonly framing: Framing; booksIn(page: string): number }>
> = {
  csv: { pages: 'csv', framing: { ...framings.csv, of: (page) => page }, booksIn: linesIn },
  ndjson: { pages: 'json', framing: framings.ndjson, booksIn: (page) => page.split(BETWEEN).length },
}

function csvOf(page: string): string {
  return csvLines(JSON.parse(`[${page}]`) as Book[])
}

function ndjsonOf(page: string): string {
  return page === '' ? '' : `${page.replaceAll(BETWEEN, '}\n{"id":')}\n`
}
