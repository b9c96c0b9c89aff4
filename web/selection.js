/** @typedef {import('./service.js').Book} Book */

/** The most books that can be selected: each takes two requests. */
export const MOST = 10_000

/** The books that are selected, as they were listed, by their ids. @type {Map<number, Book>} */
export const selected = new Map()

/** The row at which a range begins. */
let anchor = 0

/** @param {readonly Book[]} books */
export function select(books) {
  for (const book of books) selected.set(book.id, book)
}

/** Selects the book of a row, or no longer. @param {import('./pages.js').BookPages} pages @param {number} row */
export function toggle(pages, row) {
  const book = pages.book(row)
  anchor = row
  if (book !== undefined && !selected.delete(book.id)) select([book])
}

/**
 * The rows from the one that was chosen last to another one.
 * @param {number} row
 */
export function rangeTo(row) {
  const [first, last] = [Math.min(anchor, row), Math.max(anchor, row)]
  return { first, end: Math.min(last + 1, first + MOST) }
}
