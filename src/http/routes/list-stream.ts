import { Readable } from 'node:stream'
import type { BookQuery, Position } from '../../catalogue/query.ts'
import type { Page, QueryOptions, Store } from '../../catalogue/store.ts'
import type { Framing } from '../../files/write-books.ts'
import { envelope, success } from '../envelope.ts'

/** The text of a page that a client asks for, in bytes. */
const MAX_PAGE_TEXT = 4 * 1024 * 1024

/**
 * A page of at most `limit` books; fewer than there are if their texts are very long.
 * @param signal as for Store.page.
 */
export function readPage(
  store: Store,
  query: BookQuery,
  after: Position | undefined,
  limit: number,
  options: QueryOptions,
): Promise<Page> {
  return store.page(query, after, { books: limit, text: MAX_PAGE_TEXT }, options)
}

const [HEAD, TAIL] = JSON.stringify(envelope(success.booksRetrieved, [])).split(/(?=\]\})/) as [
  string,
  string,
]

/** The list as the envelope has it. */
export const enveloped: Framing = { head: HEAD, between: ',', tail: TAIL, of: (page) => page }

/** The whole answer with one page. */
export const listText = (page: string, { head, tail, of }: Framing) => head + of(page) + tail

/**
 * The answer to GET /books, without ever holding more than a few pages of it: a list that ends within
 * one page as a string, a longer one as a stream that reads the next page when the client has taken the last.
 * If a page cannot be read, the promise is rejected, or the stream destroyed once it has begun.
 * @param pages as Store.list makes them.
 * @param hold is told how many bytes a stream has in memory, as often as that changes.
 */
export async function listing(
  pages: AsyncIterable<string>,
  framing: Framing = enveloped,
  hold: (bytes: number) => void = () => {},
): Promise<string | Readable> {
  const iterator = pages[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return listText('', framing)
  const second = await iterator.next()
  if (second.done) return listText(first.value, framing)
  const { head, between, tail, of } = framing
  // Bytes, because for a string Node would reserve three times its length until the client has taken it.
  const ready = [Buffer.from(head + of(first.value)), Buffer.from(between + of(second.value))]
  // One page waits here, and the one before it for the client.
  let [before, last] = ready.map(({ length }) => length) as [number, number]
  hold(before + last)
  return new Readable({
    // Pages are large enough: one ahead of the client is all that a faster answer needs.
    objectMode: true,
    highWaterMark: 1,
    read() {
      const page = ready.shift()
      if (page !== undefined) {
        this.push(page)
        return
      }
      const readNext = async () => {
        const { done, value } = await iterator.next()
        const bytes = Buffer.from(done ? tail : between + of(value))
        ;[before, last] = [last, bytes.length]
        hold(before + last)
        this.push(bytes)
        if (done) this.push(null)
      }
      // A client that takes every page at once would otherwise keep all others waiting. A promise of the page that was
      // made before the wait would by then be in V8's old generation, and keep the page until a full collection.
      setImmediate(() => {
        if (!this.destroyed) readNext().catch((error: Error) => this.destroy(error))
      })
    },
    // Also when the client is gone before the first page was taken.
    destroy(error, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(error), callback)
    },
  })
}
