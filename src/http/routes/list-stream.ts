import { Readable } from 'node:stream'
import type { Page } from '../../catalogue/store.ts'
import type { Framing } from '../../files/write-books.ts'
import { envelope, success } from '../envelope.ts'

const [HEAD, TAIL] = JSON.stringify(envelope(success.booksRetrieved, [])).split(/(?=\]\})/) as [
  string,
  string,
]

export const enveloped: Framing = { head: HEAD, between: ',', tail: TAIL, render: (page) => page.json() }

export const listText = (page: Page, { head, tail, render }: Framing) => head + render(page) + tail

/**
 * Makes the body of the response to GET /books. At most a few pages are in memory at a time. A list of one page is a
 * string. A longer one is a stream, which reads the next page when the client has taken the last. If a page cannot be
 * read, the promise rejects, or the stream is destroyed if it has begun.
 * @param pages none of them empty.
 * @param reserve called with the number of bytes that the stream has in memory, whenever that changes.
 */
export async function listing(
  pages: AsyncIterable<Page>,
  framing: Framing,
  reserve: (bytes: number) => void,
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
  // Bytes, because Node would reserve three times the length of a string until the client has taken it.
  let ready: Buffer | undefined = Buffer.from(head + textOf(first.value))
  // The last page waits in this stream, and the one before it waits for the client.
  let [before, last] = [0, ready.length]
  reserve(last)
  return new Readable({
    // Pages are large, so one page ahead of the client is enough for a fast response.
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
      // Without the wait, a client that takes every page at once would keep all others waiting. The promise is created
      // afterwards: otherwise it would be in V8's old generation by then, and keep its page until a full collection.
      readInTurn(() => {
        if (!this.destroyed) readNext().catch((error: Error) => this.destroy(error))
      })
    },
    // Also called if the client closes the connection before it has taken the first page.
    destroy(error, callback) {
      Promise.resolve(iterator.return?.()).then(() => callback(error), callback)
    },
  })
}

/** How long one turn of the event loop may go on reading pages, in milliseconds. */
const TURN_TIME = 5

/** Functions that each read a page, in the order of their calls. */
const waiting: (() => void)[] = []

/** When this turn stops reading pages, in the time of `performance.now()`; −1 before its first page. */
let turnEnd = -1

/**
 * Calls `read`, which reads a page of a list, at once, or in a later turn of the event loop if this one has read for
 * long enough. Otherwise, when hundreds of lists are read at once, other requests would wait for a page of each.
 */
export function readInTurn(read: () => void): void {
  if (turnEnd < 0) beginTurn()
  if (performance.now() < turnEnd) read()
  else waiting.push(read)
}

function beginTurn(): void {
  turnEnd = performance.now() + TURN_TIME
  setImmediate(() => {
    turnEnd = -1
    for (const read of waiting.splice(0)) readInTurn(read)
  })
}
