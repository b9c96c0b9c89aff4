/** @typedef {import('./service.js').Book} Book */

/** The most books that can be selected: each takes a request or two. */
export const MOST = 10_000

/** The books that are selected, as they were listed, by their ids. @type {Map<number, Book>} */
export const selected = new Map()

/** @param {readonly Book[]} books */
export function select(books) {
  for (const book of books) selected.set(book.id, book)
}
