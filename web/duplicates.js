import { fold } from '#search-words'
import { tell } from './dialog.js'
import { Away } from './service.js'
import { MOST } from './store.js'
import { words } from './words.js'

/** @typedef {import('./fields.js').Book} Book */

/** Likely duplicates have equal keys: case and accents do not count. @param {Pick<Book, 'title' | 'author'>} book */
export const keyOf = ({ title, author }) => `${fold(title).trim()}\0${fold(author).trim()}`

/**
 * The likely duplicates in a response, at most `MOST`: those that are alike side by side, first the one added first.
 * @param {Response} response NDJSON in the order of authors, so only the books of one author have to be in memory.
 * @param {AbortSignal} signal
 */
export async function readDuplicates({ body }, signal) {
  /** @type {Book[]} */
  const found = []
  /** @type {Book[]} */
  const ofAuthor = []
  let [author, letters, rest] = ['', '', '']
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader && found.length <= MOST) {
    const { value, done } = await reader.read().catch((error) => {
      throw signal.aborted ? error : new Away(words.away)
    })
    if (done) {
      found.push(...alike(ofAuthor))
      break
    }
    const lines = `${rest}${value}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      /** @type {Book} */
      const book = JSON.parse(line)
      if (book.author !== author) {
        const before = letters
        author = book.author
        // Authors that differ only in punctuation may be mixed in this order.
        letters = fold(author).replace(/[^\p{L}\p{N}]+/gu, '')
        if (letters !== before) found.push(...alike(ofAuthor.splice(0)))
      }
      ofAuthor.push(book)
    }
  }
  await reader?.cancel()
  if (found.length > MOST) tell({ text: words.list.firstDuplicates(MOST) })
  return found.slice(0, MOST)
}

/**
 * The books that have a duplicate among these, side by side. Books without a title do not count.
 * @param {readonly Book[]} books
 */
export const alike = (books) =>
  books.length < 2
    ? []
    : [...Map.groupBy(books, keyOf)]
        .filter(([key, { length }]) => length > 1 && !key.startsWith('\0'))
        .flatMap(([, same]) => same.toSorted((a, b) => a.id - b.id))
