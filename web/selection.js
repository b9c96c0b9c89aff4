/** @typedef {import('./service.js').Book} Book */

/** The most books that can be selected: actions take one or two requests for each. */
export const MOST = 10_000

/** The selected books by id, as they were listed. @type {Map<number, Book>} */
export const selected = new Map()

/** @param {readonly Book[]} books */
export function select(books) {
  for (const book of books) selected.set(book.id, book)
}
