import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Book } from './book.ts'
import { envelope, success } from './envelope.ts'

const [HEAD, TAIL] = JSON.stringify(envelope(success.booksRetrieved, [])).split(/(?=\]\})/) as [
  string,
  string,
]

/**
 * The answer to GET /books as JSON text, without ever holding more than two pages of it: a list that ends within
 * one page as a string, a longer one as a stream that reads the next page when the client has taken the last.
 * If a page cannot be read, the promise is rejected, or the stream destroyed once it has begun.
 */
export async function listing(pages: AsyncIterable<readonly Book[]>): Promise<string | Readable> {
  const iterator = pages[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return HEAD + TAIL
  const second = await iterator.next()
  if (second.done) return HEAD + elements(first.value) + TAIL
  return Readable.from(chunks(first.value, second.value, iterator))
}

async function* chunks(
  first: readonly Book[],
  second: readonly Book[],
  rest: AsyncIterator<readonly Book[]>,
): AsyncGenerator<string> {
  try {
    yield HEAD + elements(first)
    for (let page = second; ; ) {
      // A client that takes every page at once would otherwise keep all others waiting.
      await setImmediate()
      yield `,${elements(page)}`
      const next = await rest.next()
      if (next.done) break
      page = next.value
    }
    yield TAIL
  } finally {
    await rest.return?.()
  }
}

function elements(books: readonly Book[]): string {
  return JSON.stringify(books).slice(1, -1)
}
