import { type Book, COLUMNS } from '../catalogue/book.ts'
import { CRLF, csvLines, linesIn } from '../catalogue/csv-line.ts'
import type { Format } from './formats.ts'

/** How pages of books become one text. */
export interface Framing {
  /** Texts before, between and after the pages. Without a page, `head` and `tail` are all. */
  readonly head: string
  readonly between: string
  readonly tail: string
  /** @param page as Store.list gives it: JSON text of books, separated by commas. */
  render(page: string): string
}

/** Occurs in a page only between two books. Within a string the quote would be escaped (RFC 8259 §7). */
const BETWEEN = '},{"id":'

/** The framings of the file formats. */
export const framings: Readonly<Record<Format, Framing>> = {
  csv: { head: COLUMNS.join(',') + CRLF, between: '', tail: '', render: csvOf },
  ndjson: { head: '', between: '', tail: '', render: ndjsonOf },
}

/** How the list of all books becomes a file of each format. */
export const wholeLists: Readonly<
  Record<Format, { readonly pages: 'json' | 'csv'; readonly framing: Framing; booksIn(page: string): number }>
> = {
  csv: { pages: 'csv', framing: { ...framings.csv, render: (page) => page }, booksIn: linesIn },
  ndjson: { pages: 'json', framing: framings.ndjson, booksIn: (page) => page.split(BETWEEN).length },
}

function csvOf(page: string): string {
  return csvLines(JSON.parse(`[${page}]`) as Book[])
}

function ndjsonOf(page: string): string {
  return page === '' ? '' : `${page.replaceAll(BETWEEN, '}\n{"id":')}\n`
}
