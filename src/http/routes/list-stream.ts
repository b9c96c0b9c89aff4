import { Readable } from 'node:stream'
import type { BookQuery, Position } from '../../catalogue/query.ts'
import type { Page, QueryOptions, Store } from '../../catalogue/store.ts'
import type { Framing } from '../../files/write-books.ts'
import { envelope, success } from '../envelope.ts'

/** The largest page that a client gets, in bytes of text. */
const MAX_PAGE_TEXT = 4 * 1024 * 1024

/** Reads a page of at most `limit` books. It has fewer if their texts are very long. */
export function readRequestedPage(
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

/** The list in the envelope. */
export const enveloped: Framing = { head: HEAD, between: ',', tail: TAIL, render: (page) => page.json() }

/** The whole text of a list of one page. */
export const listText = (page: Page, { head, tail, render }: Framing) => head + render(page) + tail

/**
 * Makes the response to GET /books, and never holds more than a few pages of it. A list of one page is a string. A longer
 * one is a stream, which reads the next page when the client has taken the last. If a page cannot be read, the promise
 * is rejected, or the stream is destroyed if it has begun.
 * @param pages none of them empty.
 * @param reserve is called with the number of bytes that the stream has in memory, whenever that changes.
 */
export async function listing(
  pages: AsyncIterable<Page>,
  framing: Framing = enveloped,
  reserve: (bytes: number) => void = () => {},
): Promise<string | Readable> {
  const iterator = pages[Symbol.asyncIterator]()
  const next = () =>
    new Promise<IteratorResult<Page>>((resolve, reject) => {
      readInTurn(() => iterator.next().then(resolve, reject))
    })
  const first = await next()
  const { head, between, tail, render } = framing
  if (first.done) return head + tail
  if (!first.value.more) return listText(first.value, framing)
  let separator = ''
  const textOf = (page: Page) => {
    const text = render(page)
    if (text === '') return ''
    const separated = separator + text
    separator = between
    return separated
  }
  // These are bytes, because Node would reserve three times the length of a string until the client has taken it.
  let ready: Buffer | undefined = Buffer.from(head + textOf(first.value))
  // One page waits here, and the one before it for the client.
  let [before, last] = [0, ready.length]
  reserve(last)
  return new Readable({
    // One page ahead of the client is enough for a fast response, because pages are large.
    objectMode: true,
    highWaterMark: 1,
    read() {
      if (ready !== undefined) {
        this.push(ready)
        ready = undefined
        return
      }
      const readNext = async () => {
        const { done, value } = await iterator.next()
        const bytes = Buffer.from(done ? tail : textOf(value))
        ;[before, last] = [last, bytes.length]
        reserve(before + last)
        this.push(bytes)
        if (done) this.push(null)
      }
      // Without the wait, a client that takes every page at once would keep all others waiting. The promise is made after
      // it: an older one would be in V8's old generation by then, and keep its page until a full collection.
      readInTurn(() => {
        if (!this.destroyed) readNext().catch((error: Error) => this.destroy(error))
      })
    },
    // This is also called if the client goes before it has taken the first page.
    destroy(error, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(error), callback)
    },
  })
}

/** How long pages are read in one turn of the event loop, in milliseconds. */
const TURN_TIME = 5

/** Functions that each read a page, the next one first. */
const waiting: (() => void)[] = []

/** When this turn has read for long enough; −1 before it has read a page. */
let end = -1

/**
 * Calls a function that reads a page of a list: at once, or in a later turn of the event loop if this one has read for
 * long enough. When hundreds of lists are read at once, each page waits for its turn, so that other requests wait for a
 * few of the pages and not for one of each list.
 */
export function readInTurn(read: () => void): void {
  if (end < 0) beginTurn()
  if (performance.now() < end) read()
  else waiting.push(read)
}

function beginTurn(): void {
  end = performance.now() + TURN_TIME
  setImmediate(readWaiting)
}

function readWaiting(): void {
  end = -1
  if (waiting.length === 0) return
  beginTurn()
  do waiting.shift()?.()
  while (waiting.length > 0 && performance.now() < end)
}
