import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Book } from '../../src/catalogue/book.ts'
import { pageOf } from '../../src/catalogue/page.ts'
import type { Page } from '../../src/catalogue/store.ts'
import { framings } from '../../src/files/write-books.ts'
import { envelope, success } from '../../src/http/envelope.ts'
import { enveloped, listing, readInTurn } from '../../src/http/routes/list-stream.ts'

/** How many pages may be read ahead of a client that takes none. */
const FEW = 6

/** Pages of two books each, and what was asked of them. */
function source(count: number) {
  const asked = { pages: 0, returned: 0 }
  const page = (i: number): Book[] =>
    [2 * i + 1, 2 * i + 2].map((id) => ({ id, title: `"T\\${id}\r\n`, author: ']}📚\u2028', year: -id }))
  const iterator: AsyncIterator<Page> = {
    next: async () => {
      const i = asked.pages++
      return i < count
        ? { done: false, value: pageOf(page(i), { last: [2 * i + 2], more: i + 1 < count }) }
        : { done: true, value: undefined }
    },
    return: async () => {
      asked.returned++
      return { done: true, value: undefined }
    },
  }
  const books = Array.from({ length: Math.min(count, 1000) }, (_, i) => page(i)).flat()
  return { pages: { [Symbol.asyncIterator]: () => iterator }, books, asked }
}

async function stream(pages: AsyncIterable<Page>, framing = enveloped, reserve = (_bytes: number) => {}) {
  const body = await listing(pages, framing, reserve)
  assert.ok(body instanceof Readable)
  return body
}

/** Waits until no more pages are asked for. */
async function calm(asked: { readonly pages: number }): Promise<void> {
  for (let before = -1; before !== asked.pages; ) {
    before = asked.pages
    for (let turn = 0; turn < 10; turn++) await nextTurn()
  }
}

describe('the text of GET /books', () => {
  it('is the envelope of all pages, at once if there is one, or else as a stream', async () => {
    for (const count of [0, 1, 2, 3, 50]) {
      const { pages, books } = source(count)
      const body = await listing(pages, enveloped, () => {})
      assert.equal(typeof body === 'string', count < 2)
      const whole = typeof body === 'string' ? body : await text(body)
      assert.equal(whole, JSON.stringify(envelope(success.booksRetrieved, books)))
    }
  })

  for (const empty of [[1], [2], [1, 2, 3]])
    it(`is well-formed when all books of a page are deleted just before it is read: ${empty}`, async () => {
      async function* pages() {
        for (const id of [1, 2, 3]) {
          const books = empty.includes(id) ? [] : [{ id, title: 'T', author: 'A', year: 1 }]
          yield { ...pageOf(books, { last: [id], more: id < 3 }), count: 1 }
        }
      }
      const { data } = JSON.parse(await text(await stream(pages()))) as { data: Book[] }
      const left = [1, 2, 3].filter((id) => !empty.includes(id))
      assert.equal(data.map(({ id }) => id).join(), left.join())
      assert.equal((await text(await stream(pages(), framings.ndjson))).split('\n').length, left.length + 1)
    })
})

describe('the stream of GET /books', () => {
  it('says how many bytes of pages it has, with each page', async () => {
    const framing = { head: '[', between: ',', tail: ']', render: (page: Page) => 'é'.repeat(page.count) }
    const held: number[] = []
    async function* pages() {
      for (const count of [1, 10, 100]) yield { ...pageOf([], { last: [1], more: count < 100 }), count }
    }
    const body = await stream(pages(), framing, (bytes) => held.push(bytes))
    await text(body)
    assert.deepEqual(held, [3, 3 + 21, 21 + 201, 201 + 1])
  })

  it('reads few pages ahead of a client, and ends the list when it is destroyed, whatever was taken before', async () => {
    for (const taken of [0, 1, 20]) {
      const { pages, asked } = source(100_000)
      const body = await stream(pages)
      const chunks = body[Symbol.asyncIterator]()
      for (let i = 0; i < taken; i++) assert.equal((await chunks.next()).done, false)
      await calm(asked)
      assert.ok(asked.pages <= taken + FEW, `${asked.pages} pages`)
      body.destroy()
      const { pages: read } = asked
      await once(body, 'close')
      await calm(asked)
      assert.deepEqual(asked, { pages: read, returned: 1 }, 'no page is read any more')
    }
  })

  it('lets others have their turn while a client takes every page at once', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now++)
    const { pages, asked } = source(1000)
    const all = text(await stream(pages))
    await nextTurn()
    assert.ok(asked.pages < 100, `${asked.pages} pages`)
    await all
    assert.equal(asked.pages, 1001)
  })
})

it('pages are read at once while the turn has time for them, the others in later turns, in their order', async (t) => {
  // The turn of the tests before is over then.
  for (let turn = 0; turn < 2; turn++) await nextTurn()
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const read: number[] = []
  const ask = (page: number, time: number) =>
    readInTurn(() => {
      now += time
      read.push(page)
    })
  for (const [page, time] of [0, 5, 5, 0].entries()) ask(page, time)
  assert.deepEqual(read, [0, 1])
  await nextTurn()
  ask(4, 0)
  assert.deepEqual(read, [0, 1, 2])
  for (let turn = 0; turn < 2; turn++) await nextTurn()
  assert.deepEqual(read, [0, 1, 2, 3, 4])
  ask(5, 0)
  assert.deepEqual(read, [0, 1, 2, 3, 4, 5])
})
