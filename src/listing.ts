import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { BookQuery, Position } from './book-query.ts'
import { envelope, success } from './envelope.ts'
import type { Page, Store } from './store/store.ts'
import type { Framing } from './transfer/write-books.ts'

/** The text of a page that a client asks for, in bytes. */
const MAX_PAGE_TEXT = 4 * 1024 * 1024

/** A page of at most `limit` books; fewer than there are if their texts are very long. */
export function readPage(
  store: Store,
  query: BookQuery,
  after: Position | undefined,
  limit: number,
): Promise<Page> {
  return store.page(query, after, { books: limit, text: MAX_PAGE_TEXT })
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
 */
export async function listing(
  pages: AsyncIterable<string>,
  framing: Framing = enveloped,
): Promise<string | Readable> {
  const iterator = pages[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return listText('', framing)
  const second = await iterator.next()
  if (second.done) return listText(first.value, framing)
  const text = chunks(first.value, second.value, iterator, framing)
  return new Readable({
    // Pages are large enough: one ahead of the client is all that a faster answer needs.
    objectMode: true,
    highWaterMark: 1,
    read() {
      text.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error: Error) => this.destroy(error),
      )
    },
    // Also when the client is gone before the first page was taken.
    destroy(error, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(error), callback)
    },
  })
}

async function* chunks(
  first: string,
  second: string,
  rest: AsyncIterator<string>,
  { head, between, tail, of }: Framing,
): AsyncGenerator<string, undefined> {
  yield head + of(first)
  for (let page = second; ; ) {
    // A client that takes every page at once would otherwise keep all others waiting.
    await setImmediate()
    yield between + of(page)
    const next = await rest.next()
    if (next.done) break
    page = next.value
  }
  yield tail
}
