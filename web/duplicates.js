import { fold } from '#search-words'
import { tell } from './notices.js'
import { MOST } from './selection.js'
import { Away } from './service.js'
import { words } from './words.js'

/** @typedef {import('./service.js').Book} Book */

/** Books of the same title and author, but for case and accents, are likely to be the same one. @param {Pick<Book, 'title' | 'author'>} book */
export const keyOf = ({ title, author }) => `${fold(title).trim()}\0${fold(author).trim()}`

/**
 * The books of a response that have likely duplicates there, up to as many as can be selected: those that are alike one
 * after the other, first the one that was added first.
 * @param {Response} response NDJSON in the order of authors: so only the books of one have to be in memory.
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
        // Signs between letters do not matter for the order.
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

/** Those that are like another one. @param {readonly Book[]} books */
const alike = (books) =>
  books.length < 2
    ? []
    : [...Map.groupBy(books, keyOf)]
        .filter(([key, { length }]) => length > 1 && !key.startsWith('\0'))
        .flatMap(([, same]) => same.toSorted((a, b) => a.id - b.id))

/** Without those whose duplicates are gone. @param {readonly Book[]} books */
export function withoutSingle(books) {
  const keys = books.map(keyOf)
  return books.filter((_, i) => keys[i] === keys[i - 1] || keys[i] === keys[i + 1])
}
