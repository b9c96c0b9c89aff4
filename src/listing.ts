import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { envelope, success } from './envelope.ts'

const [HEAD, TAIL] = JSON.stringify(envelope(success.booksRetrieved, [])).split(/(?=\]\})/) as [
  string,
  string,
]

/**
 * The answer to GET /books as JSON text, without ever holding more than a few pages of it: a list that ends within
 * one page as a string, a longer one as a stream that reads the next page when the client has taken the last.
 * If a page cannot be read, the promise is rejected, or the stream destroyed once it has begun.
 * @param pages as Store.list makes them.
 */
export async function listing(pages: AsyncIterable<string>): Promise<string | Readable> {
  const iterator = pages[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return HEAD + TAIL
  const second = await iterator.next()
  if (second.done) return HEAD + first.value + TAIL
  const text = chunks(first.value, second.value, iterator)
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
): AsyncGenerator<string, undefined> {
  yield HEAD + first
  for (let page = second; ; ) {
    // A client that takes every page at once would otherwise keep all others waiting.
    await setImmediate()
    yield `,${page}`
    const next = await rest.next()
    if (next.done) break
    page = next.value
  }
  yield TAIL
}
