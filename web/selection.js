/** @typedef {import('./service.js').Book} Book */

/** The most books that can be selected: each takes two requests. */
export const MOST = 10_000

/** The books that are selected, as they were listed, by their ids. @type {Map<number, Book>} */
export const selected = new Map()

/** The row at which a range begins, and its list. @type {{ pages: import('./pages.js').BookPages, row: number } | undefined} */
let anchor

/** @param {readonly Book[]} books */
export function select(books) {
  for (const book of books) selected.set(book.id, book)
}

/** Selects the book of a row, or no longer. @param {import('./pages.js').BookPages} pages @param {number} row */
export function toggle(pages, row) {
  const book = pages.book(row)
  anchor = { pages, row }
  if (book !== undefined && !selected.delete(book.id)) select([book])
}

/**
 * The rows from the one that was chosen last to another one.
 * @param {import('./pages.js').BookPages} pages @param {number} row
 * @param {number} [from] where to begin, unless the book of this row is selected.
 */
export function rangeTo(pages, row, from = row) {
  const book = pages.book(from)
  const isNew = from !== row && book !== undefined && !selected.has(book.id)
  if (isNew || anchor?.pages !== pages) anchor = { pages, row: from }
  const [first, last] = [Math.min(anchor.row, row), Math.max(anchor.row, row)]
  return { first, end: Math.min(last + 1, first + MOST) }
}
