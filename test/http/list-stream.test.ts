import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Book } from '../../src/catalogue/book.ts'
import { pageOf } from '../../src/catalogue/page.ts'
import type { Page } from '../../src/catalogue/store.ts'
import { type Framing, framings } from '../../src/files/write-books.ts'
import { envelope, success } from '../../src/http/envelope.ts'
import { listing } from '../../src/http/routes/list-stream.ts'

/** Time enough to read thousands of pages, in milliseconds. */
const A_WHILE = 100

/** How long a page may take to read, in milliseconds. */
const SLOW_PAGE = 2

/** How many pages may be read ahead of a client that takes none. */
const FEW = 6

/** Pages of two books each, and what was asked of them. */
function source(count: number, { failAt = Number.POSITIVE_INFINITY, error = new Error('no page') } = {}) {
  const asked = { pages: 0, returned: 0 }
  const page = (i: number): Book[] =>
    [2 * i + 1, 2 * i + 2].map((id) => ({ id, title: `"T\\${id}\r\n`, author: ']}📚\u2028', year: -id }))
  const iterator: AsyncIterator<Page> = {
    next: async () => {
      const i = asked.pages++
      if (i === failAt) throw error
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

async function stream(pages: AsyncIterable<Page>): Promise<Readable> {
  const body = await listing(pages)
  assert.ok(body instanceof Readable)
  return body
}

describe('the text of GET /books', () => {
  it('has an empty array as data when there is no book', async () => {
    const body = await listing(source(0).pages)
    assert.equal(body, '{"status":200,"message":"Books retrieved successfully","data":[]}')
  })

  it('is a string when there is one page', async () => {
    const { pages, books } = source(1)
    assert.equal(await listing(pages), JSON.stringify(envelope(success.booksRetrieved, books)))
  })

  for (const count of [2, 3, 50]) {
    it(`is a stream of the same text when there are ${count} pages`, async () => {
      const { pages, books } = source(count)
      const body = await stream(pages)
      assert.equal(await text(body), JSON.stringify(envelope(success.booksRetrieved, books)))
    })
  }
})

describe('the stream of GET /books', () => {
  for (const [what, empty] of Object.entries({ first: [1], last: [3], 'in the middle': [2], all: [1, 2, 3] }))
    it(`is well-formed when all books of a page are deleted just before it is read: ${what}`, async () => {
      async function* pages() {
        for (const id of [1, 2, 3]) {
          const books = empty.includes(id) ? [] : [{ id, title: 'T', author: 'A', year: 1 }]
          yield { ...pageOf(books, { last: [id], more: id < 3 }), count: 1 }
        }
      }
      const read = async (framing?: Framing) => text((await listing(pages(), framing)) as Readable)
      const left = [1, 2, 3].filter((id) => !empty.includes(id))
      const { data } = JSON.parse(await read()) as { data: Book[] }
      assert.deepEqual(
        data.map(({ id }) => id),
        left,
      )
      assert.equal((await read(framings.ndjson)).split('\n').length, left.length + 1)
    })

  it('says how many bytes of pages it has, with each page', async () => {
    const framing = { head: '[', between: ',', tail: ']', render: (page: Page) => 'é'.repeat(page.count) }
    const held: number[] = []
    async function* pages() {
      for (const count of [1, 10, 100]) yield { ...pageOf([], { last: [1], more: count < 100 }), count }
    }
    const body = await listing(pages(), framing, (bytes) => held.push(bytes))
    assert.deepEqual(held, [3])
    assert.ok(body instanceof Readable)
    await text(body)
    assert.deepEqual(held, [3, 3 + 21, 21 + 201, 201 + 1])
  })

  it('reads few pages ahead of a client that takes none', async () => {
    const { pages, asked } = source(100_000)
    const body = await stream(pages)
    await setTimeout(A_WHILE)
    assert.ok(asked.pages <= FEW, `${asked.pages} pages`)
    body.destroy()
  })

  it('reads few pages ahead of a client that takes some and then none', async () => {
    const { pages, asked } = source(100_000)
    const body = await stream(pages)
    let taken = 0
    const stuck = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, callback) => {
        if (++taken < 20) callback()
      },
    })
    body.pipe(stuck)
    while (taken < 20) await setTimeout(1)
    await setTimeout(A_WHILE)
    assert.ok(asked.pages <= 20 + FEW, `${asked.pages} pages`)
    stuck.destroy()
    body.destroy()
  })

  it('lets others have their turn while a client takes every page at once', async () => {
    const { pages, asked } = source(1000)
    const body = await stream(pages)
    const all = text(body)
    await setTimeout(0)
    assert.ok(asked.pages < 1000)
    await all
    assert.equal(asked.pages, 1001)
  })

  it('lets others have their turn while hundreds of lists are read at once', async () => {
    const lists = 200
    let pagesInTurn = 0
    let most = 0
    const slowPages = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const end = performance.now() + SLOW_PAGE
          while (performance.now() < end);
          most = Math.max(most, ++pagesInTurn)
          return { done: false, value: pageOf([], { last: [1], more: true }) }
        },
      }),
    }
    const turns = setInterval(() => {
      pagesInTurn = 0
    })
    const bodies = await Promise.all(Array.from({ length: lists }, () => stream(slowPages)))
    for (const body of bodies) body.resume()
    await setTimeout(A_WHILE * SLOW_PAGE)
    for (const body of bodies) body.destroy()
    clearInterval(turns)
    // The other pages of a turn are those of the lists that have just begun.
    assert.ok(most < lists / 10, `${most} pages in one turn`)
  })

  for (const taken of [0, 1, 3]) {
    it(`ends the list when it is destroyed after ${taken} pages`, async () => {
      const { pages, asked } = source(100_000)
      const body = await stream(pages)
      const chunks = body[Symbol.asyncIterator]()
      for (let i = 0; i < taken; i++) assert.equal((await chunks.next()).done, false)
      body.destroy()
      const { pages: read } = asked
      await once(body, 'close')
      await setTimeout(0)
      assert.deepEqual(asked, { pages: read, returned: 1 }, 'no page is read any more')
    })
  }
})

describe('a page that cannot be read', () => {
  it('rejects when it is the first, before anything was sent', async () => {
    const error = new Error('gone')
    await assert.rejects(() => listing(source(9, { failAt: 0, error }).pages), error)
  })

  for (const failAt of [1, 5]) {
    it(`destroys the stream with its error when it is page ${failAt + 1}`, async () => {
      const error = new Error('gone')
      const body = await stream(source(9, { failAt, error }).pages)
      let sent = ''
      await assert.rejects(
        async () => {
          for await (const chunk of body) sent += chunk
        },
        (thrown) => thrown === error,
      )
      assert.equal(body.destroyed, true)
      assert.equal(body.errored, error)
      assert.match(sent, /^\{"status":200,/)
      assert.throws(() => JSON.parse(sent), 'the text is not complete')
    })
  }
})
