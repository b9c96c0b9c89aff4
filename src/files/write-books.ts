import { type Book, COLUMNS, FIELD_NAMES } from '../catalogue/book.ts'
import { CRLF, csvLines, linesIn } from '../catalogue/csv-line.ts'
import type { Format } from './formats.ts'
import { guarded, ID_COLUMN } from './formulas.ts'

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

/** What a file of books is: of a format, or CSV for spreadsheets, which know UTF-8 by a byte order mark. */
export type FileKind = Format | 'spreadsheet'

const SPREADSHEET_HEAD = `\ufeff${[ID_COLUMN, ...FIELD_NAMES].join(',')}${CRLF}`

export const framings: Readonly<Record<FileKind, Framing>> = {
  csv: { head: COLUMNS.join(',') + CRLF, between: '', tail: '', render: csvOf },
  ndjson: { head: '', between: '', tail: '', render: ndjsonOf },
  spreadsheet: { head: SPREADSHEET_HEAD, between: '', tail: '', render: guardedCsvOf },
}

/** How the list of all books becomes a file of each kind. */
export const wholeLists: Readonly<
  Record<
    FileKind,
    { readonly pages: 'json' | 'csv'; readonly framing: Framing; booksIn(page: string): number }
  >
> = {
  csv: { pages: 'csv', framing: { ...framings.csv, render: (page) => page }, booksIn: linesIn },
  ndjson: { pages: 'json', framing: framings.ndjson, booksIn },
  spreadsheet: { pages: 'json', framing: framings.spreadsheet, booksIn },
}

function booksIn(page: string): number {
  return page.split(BETWEEN).length
}

function csvOf(page: string): string {
  return csvLines(JSON.parse(`[${page}]`) as Book[])
}

function guardedCsvOf(page: string): string {
  const guard = (_name: string, value: unknown) => (typeof value === 'string' ? guarded(value) : value)
  return csvLines(JSON.parse(`[${page}]`, guard) as Book[])
}

function ndjsonOf(page: string): string {
  return page === '' ? '' : `${page.replaceAll(BETWEEN, '}\n{"id":')}\n`
}
