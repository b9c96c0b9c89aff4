import type { Book } from './book.ts'

/** The columns of our own CSV, in their order. */
export const COLUMNS = ['id', 'title', 'author', 'year'] as const

/** Ends a line of CSV (RFC 4180 §2.1). */
export const CRLF = '\r\n'

/** What a field cannot have unless it is in quotes (RFC 4180 §2.6). */
const NEEDS_QUOTES = /[",\r\n]/

/** Books as lines of CSV. */
export const csvLines = (books: readonly Book[]) =>
  books.map(({ id, title, author, year }) => csvLine(id, title, author, year)).join('')

/** A book as a line of CSV. */
export function csvLine(id: number, title: string, author: string, year: number): string {
  return `${id},${quoted(title)},${quoted(author)},${year}${CRLF}`
}

/** @returns how many lines a CSV text has: those that end between its fields, not within one. */
export function linesIn(csv: string): number {
  let lines = 0
  let isQuoted = false
  for (const part of csv.split('"')) {
    if (!isQuoted) for (let at = part.indexOf(CRLF); at !== -1; at = part.indexOf(CRLF, at + 1)) lines++
    isQuoted = !isQuoted
  }
  return lines
}

/** Without quotes a text stays as it is, spaces at its ends and a formula too (RFC 4180 §2.4). */
function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
