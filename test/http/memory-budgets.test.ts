import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'
import { RawConnection } from '../support/raw-socket.ts'
import { serve } from './serve.ts'

const LENGTH = 400_000

/** More than the share of a thread. */
const LONG = JSON.stringify({ title: 'x'.repeat(LENGTH), author: 'A', year: 1 })

/**
 * One of so many threads, so that its share of the memory is small, with four long books.
 * @param lists how many lists `first` and `second` hold back, before their first and their second page.
 */
async function start(t: TestContext, threads: number, { length = LENGTH, lists = 0 } = {}) {
  const [first, second] = [holdPages(t, lists), holdPages(t, lists)]
  const updating = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  t.after(() => end.resolve())
  const replaced = (store: Store): Partial<Store> => ({
    page: async (...query) => {
      await (query[1] === undefined ? first : second).wait()
      return store.page(...query)
    },
    update: async (...update) => {
      if (update[0] === 2) {
        updating.resolve()
        await end.promise
      }
      return store.update(...update)
    },
  })
  const server = await serve(t, { threads, replaced })
  const title = 'x'.repeat(length)
  for (let i = 0; i < 4; i++) await server.store.create({ title, author: 'A', year: 1 })
  const call = (method: string, path: string, body: string | null = null, headers = {}) =>
    fetch(server.url + path, {
      method,
      body,
      headers: { authorization: server.authorization, 'accept-encoding': 'identity', ...headers },
    })
  /** The list over HTTP/1.0, where only a reset shows that it was cut. */
  const oldList = async () => {
    using connection = await RawConnection.open(server.url)
    await connection.send(server.authorized('GET /books').replace('HTTP/1.1', 'HTTP/1.0'))
    const list = await connection.rest()
    assert.ok(!connection.wasCut)
    return list
  }
  return { first, second, call, oldList, updating: updating.promise, endUpdate: end.resolve }
}

/** Holds back a page of so many lists until `go`. `allAsked` resolves when all of them have asked for it. */
function holdPages(t: TestContext, lists: number) {
  const gate = Promise.withResolvers<void>()
  const allAsked = Promise.withResolvers<void>()
  let asked = 0
  t.after(() => gate.resolve())
  const wait = async () => {
    if (++asked === lists) allAsked.resolve()
    if (asked <= lists) await gate.promise
  }
  return { wait, allAsked: allAsked.promise, go: gate.resolve }
}

/** The fields of a 503. */
const FAILURE_FIELDS = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive', 'retry-after'],
  ...['vary', 'x-content-type-options', 'x-request-id', 'x-stored'],
]

describe('when the responses of others take the memory', () => {
  it('a list and a long response are 503, a short one is not, and a write that was done says so', async (t) => {
    const { call, first, second } = await start(t, 512, { lists: 1 })
    const list = call('GET', '/books')
    second.go()
    await first.allAsked
    assert.equal((await call('GET', '/books')).status, 503)
    for (const [method, path, body, stored, coding = 'identity'] of [
      ['GET', '/book/1', null, null],
      ['PUT', '/book/1', '{"year":2}', 'unknown'],
      ['POST', '/book', LONG, 'unknown'],
      ['GET', '/books?limit=1&count=true', null, null],
      ['GET', '/books?limit=1&count=true', null, null, 'gzip'],
    ] as const) {
      const response = await call(method, path, body, {
        accept: 'text/csv',
        'accept-encoding': coding,
        origin: 'https://a.example',
      })
      assert.equal(response.status, 503)
      assert.equal(response.headers.get('x-stored'), stored)
      // None that describes the response which was not sent, such as ETag, Location, Link and Content-Disposition.
      const others = [...response.headers.keys()].filter((name) => !FAILURE_FIELDS.includes(name))
      assert.deepEqual(others, [])
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(response.headers.get('cache-control'), 'no-store')
    }
    assert.equal((await call('GET', '/healthz')).status, 200)
    first.go()
    const { data } = (await (await list).json()) as { data: { year: number }[] }
    assert.deepEqual(
      data.map(({ year }) => year),
      [2, 1, 1, 1, 1],
    )
    assert.equal((await call('GET', '/book/1')).status, 200)
  })

  for (const [threads, length, coding, complete] of [
    [80, LENGTH, 'identity', 2],
    [90, LENGTH, 'identity', 1],
    [90, LENGTH, 'HTTP/1.0', 1],
    [15, 1_300_000, 'identity', 2],
    [15, 1_300_000, 'gzip', 1],
  ] as const)
    it(`with 128 MiB for ${threads} threads, ${complete} of two lists with pages of ${length} characters can be read in full, with ${coding}`, async (t) => {
      const { call, oldList, ...pages } = await start(t, threads, { length, lists: 2 })
      const lists = [1, 2].map(async () =>
        coding === 'HTTP/1.0'
          ? oldList()
          : (await call('GET', '/books', null, { 'accept-encoding': coding })).text(),
      )
      const settled = Promise.allSettled(lists)
      for (const { allAsked, go } of [pages.first, pages.second]) {
        await allAsked
        go()
      }
      const texts = (await settled).map((each) => (each.status === 'fulfilled' ? each.value.length : 0))
      assert.equal(texts.filter((size) => size > 4 * length).length, complete)
      assert.equal(texts.filter((size) => size === 0).length, 2 - complete)
    })
})

it('one of very many threads has a single connection, which is closed for the next if it is idle', async (t) => {
  const { url, lines } = await serve(t, { threads: 8000 })
  using first = await RawConnection.open(url)
  using _second = await RawConnection.open(url)
  assert.equal(await first.rest(), '')
  assert.equal(lines().find(({ level }) => level === 40).limit, 1)
})

it('when the body of another request takes the memory until it is answered, a long body is 503, and a short one is not', async (t) => {
  const { call, updating, endUpdate } = await start(t, 1024)
  const long = '{}'.padEnd(40_000)
  const first = call('PUT', '/book/2', long)
  await updating
  const refused = await call('PUT', '/book/1', long)
  assert.deepEqual([refused.status, refused.headers.get('x-stored')], [503, 'no'])
  assert.equal((await call('PUT', '/book/1', '{}')).status, 200)
  endUpdate()
  assert.equal((await first).status, 200)
  assert.equal((await call('PUT', '/book/1', long)).status, 200)
})
