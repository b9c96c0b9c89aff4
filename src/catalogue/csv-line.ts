import { type Book, COLUMNS, type FieldValue } from './book.ts'

/** Ends a line of CSV (RFC 4180 §2.1). */
export const CRLF = '\r\n'

/** Characters that require quotes around a field (RFC 4180 §2.6). */
const NEEDS_QUOTES = /[",\r\n]/

/** Books as lines of CSV. */
export const csvLines = (books: readonly Book[]) =>
  books.map((book) => csvLine(COLUMNS.map((name) => book[name]))).join('')

/** @param values of a book, in the order of COLUMNS. */
export function csvLine(values: readonly FieldValue[]): string {
  let line = ''
  for (const value of values)
    line += `${line && ','}${typeof value === 'string' ? quoted(value) : (value ?? '')}`
  return line + CRLF
}

/** @returns the number of lines of a CSV text. Line breaks within fields do not count. */
export function linesIn(csv: string): number {
  let lines = 0
  let isQuoted = false
  for (const part of csv.split('"')) {
    if (!isQuoted) for (let at = part.indexOf(CRLF); at !== -1; at = part.indexOf(CRLF, at + 1)) lines++
    isQuoted = !isQuoted
  }
  return lines
}

/** A text that needs no quotes stays as it is, with outer spaces and formulas (RFC 4180 §2.4). */
function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
