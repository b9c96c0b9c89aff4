import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Store } from '../../src/catalogue/store.ts'
import { serve } from './serve.ts'

/** More than the share of a thread. */
const LONG = JSON.stringify({ title: 'x'.repeat(400_000), author: 'A', year: 1 })

/** One of so many threads, so that its share of the memory is small, with four long books. */
async function start(t: TestContext, threads: number, pagesToHold = 0) {
  const held = holdPages(t, pagesToHold)
  const updating = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  t.after(() => end.resolve())
  const replaced = (store: Store) => ({
    ...held.replaced(store),
    update: async (...update: Parameters<Store['update']>) => {
      if (update[0] === 2) {
        updating.resolve()
        await end.promise
      }
      return store.update(...update)
    },
  })
  const server = await serve(t, { threads, replaced })
  for (let i = 0; i < 4; i++) await server.store.create(JSON.parse(LONG))
  const call = (method: string, path: string, body: string | null = null, headers = {}) =>
    fetch(server.url + path, {
      method,
      body,
      headers: { authorization: server.authorization, 'accept-encoding': 'identity', ...headers },
    })
  return { ...held, call, updating: updating.promise, endUpdate: end.resolve }
}

/** So many lists begin, and get their first page when they are told to. */
function holdPages(t: TestContext, count: number) {
  const gate = Promise.withResolvers<void>()
  const allBegun = Promise.withResolvers<void>()
  let begun = 0
  t.after(() => gate.resolve())
  const replaced = (store: Store): Partial<Store> => ({
    page: async (...query) => {
      if (begun < count) {
        if (++begun === count) allBegun.resolve()
        await gate.promise
      }
      return store.page(...query)
    },
  })
  return { replaced, allBegun: allBegun.promise, go: gate.resolve }
}

/** The fields of a 503. */
const FAILURE_FIELDS = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive', 'retry-after'],
  ...['vary', 'x-content-type-options', 'x-request-id', 'x-stored'],
]

describe('when the responses of others take the memory', () => {
  it('a list and a long response are 503, a short one is not, and a write that was done says so', async (t) => {
    const { call, allBegun, go } = await start(t, 512, 1)
    const list = call('GET', '/books')
    await allBegun
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
    go()
    const { data } = (await (await list).json()) as { data: { year: number }[] }
    assert.deepEqual(
      data.map(({ year }) => year),
      [2, 1, 1, 1, 1],
    )
    assert.equal((await call('GET', '/book/1')).status, 200)
  })

  it('of lists in progress that need more, one is cut, and the other is complete', async (t) => {
    const { call, allBegun, go } = await start(t, 256, 2)
    const lists = [1, 2].map(async () => (await call('GET', '/books')).text())
    const settled = Promise.allSettled(lists)
    await allBegun
    go()
    const texts = (await settled).map((each) => (each.status === 'fulfilled' ? each.value.length : 0))
    assert.equal(texts.filter((length) => length === 0).length, 1)
    assert.ok(Math.max(...texts) > 4 * LONG.length)
  })
})

it('when the body of another request takes the memory until it is answered, a long body is 503, and a short one is not', async (t) => {
  const { call, updating, endUpdate } = await start(t, 1024)
  const long = '{}'.padEnd(100_000)
  const first = call('PUT', '/book/2', long)
  await updating
  const refused = await call('PUT', '/book/1', long)
  assert.deepEqual([refused.status, refused.headers.get('x-stored')], [503, 'no'])
  assert.equal((await call('PUT', '/book/1', '{}')).status, 200)
  endUpdate()
  assert.equal((await first).status, 200)
  assert.equal((await call('PUT', '/book/1', long)).status, 200)
})
