import type { Book } from '../book.ts'
import { COLUMNS, type Format } from './formats.ts'

/** Ends a line of CSV (RFC 4180 §2.1). */
const CRLF = '\r\n'

/** What a field cannot have unless it is in quotes (RFC 4180 §2.6). */
const NEEDS_QUOTES = /[",\r\n]/

/**
 * The text of a file with books, in parts of about the size of the pages.
 * @param pages as Store.list makes them: the JSON text of books, separated by commas.
 */
export async function* writeBooks(
  pages: AsyncIterable<string>,
  format: Format,
): AsyncGenerator<string, void> {
  if (format === 'csv') yield COLUMNS.join(',') + CRLF
  for await (const page of pages) yield format === 'csv' ? csvOf(page) : ndjsonOf(page)
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

/** Between two books, and nowhere else, stands this: within a string the quote would be escaped (RFC 8259 §7). */
function ndjsonOf(page: string): string {
  return `${page.replaceAll('},{"id":', '}\n{"id":')}\n`
}
