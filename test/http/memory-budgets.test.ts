import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it, mock, type TestContext } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

/** More than the share of a thread. */
const LONG = JSON.stringify({ title: 'x'.repeat(400_000), author: 'A', year: 1 })

const file = newFile()
let store: Store
let token: string
before(async () => {
  const auth = new Auth(ACCOUNT, SECRET)
  token = await auth.issue()
  store = await openFile(file.path)
  for (let i = 0; i < 4; i++) await store.create(JSON.parse(LONG))
})
after(() => file[Symbol.dispose]())

/** One of so many threads, so that its share of the memory is small. @returns its URL. */
async function serve(t: TestContext, threads: number): Promise<string> {
  const app = createTestServer(store, new Auth(ACCOUNT, SECRET), threads)
  t.after(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** Lists begin, and get their first page when they are told to. */
function holdPages(t: TestContext, count: number) {
  const { page } = store
  const go = Promise.withResolvers<void>()
  let begun = 0
  const news = new EventTarget()
  const held = mock.method(store, 'page', async (...query: Parameters<Store['page']>) => {
    if (begun === count) return page.apply(store, query)
    begun++
    news.dispatchEvent(new Event('begun'))
    await go.promise
    return page.apply(store, query)
  })
  t.after(() => {
    held.mock.restore()
    go.resolve()
  })
  const allBegun = async () => {
    while (begun < count) await once(news, 'begun')
  }
  return { allBegun, go: go.resolve }
}

const call = (url: string, method: string, path: string, body: string | null = null, headers = {}) =>
  fetch(url + path, {
    method,
    body,
    headers: { authorization: token, 'accept-encoding': 'identity', ...headers },
  })

/** The fields of a 503. */
const FAILURE_FIELDS = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive', 'retry-after'],
  ...['vary', 'x-content-type-options', 'x-request-id', 'x-stored'],
]

describe('when the responses of others take the memory', () => {
  it('a list and a long response are 503, a short one is not, and a write that was done says so', async (t) => {
    const pages = holdPages(t, 1)
    const url = await serve(t, 1024)
    const list = call(url, 'GET', '/books')
    await pages.allBegun()
    assert.equal((await call(url, 'GET', '/books')).status, 503)
    for (const [method, path, body, stored, coding = 'identity'] of [
      ['GET', '/book/1', null, null],
      ['PUT', '/book/1', '{"year":2}', 'unknown'],
      ['POST', '/book', LONG, 'unknown'],
      ['GET', '/books?limit=1&count=true', null, null],
      ['GET', '/books?limit=1&count=true', null, null, 'gzip'],
    ] as const) {
      const response = await call(url, method, path, body, {
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
    assert.equal((await call(url, 'GET', '/healthz')).status, 200)
    pages.go()
    const { data } = (await (await list).json()) as { data: { year: number }[] }
    assert.deepEqual(
      data.map(({ year }) => year),
      [2, 1, 1, 1, 1],
    )
    assert.equal((await call(url, 'GET', '/book/1')).status, 200)
  })

  it('of lists in progress that need more, one is cut, and the other is complete', async (t) => {
    const pages = holdPages(t, 2)
    const url = await serve(t, 256)
    const lists = [1, 2].map(async () => (await call(url, 'GET', '/books')).text())
    const settled = Promise.allSettled(lists)
    await pages.allBegun()
    pages.go()
    const texts = (await settled).map((each) => (each.status === 'fulfilled' ? each.value.length : 0))
    assert.equal(texts.filter((length) => length === 0).length, 1)
    assert.ok(Math.max(...texts) > 4 * LONG.length)
  })
})

describe('when the bodies of others take the memory', () => {
  it('a long body is 503, and a short one is not', async (t) => {
    const url = await serve(t, 1024)
    const book = '{"title":"T","author":"A","year":1}'
    const begun = await RawConnection.open(url)
    t.after(() => begun[Symbol.dispose]())
    const fields = [`Authorization: ${token}`, 'Content-Length: 200000', 'Expect: 100-continue']
    await begun.send(head('PUT /book/1', ...fields))
    assert.equal((await begun.response()).status, 100)
    await begun.send(book.padEnd(100_000))
    // A server that accepts a later connection has read what came before.
    assert.equal((await call(url, 'GET', '/healthz')).status, 200)
    const long = await call(url, 'PUT', '/book/1', book.padEnd(100_000))
    assert.deepEqual([long.status, long.headers.get('x-stored')], [503, 'no'])
    assert.equal((await call(url, 'PUT', '/book/1', book)).status, 200)
    await begun.send(' '.repeat(100_000))
    assert.equal((await begun.response()).status, 200)
    assert.equal((await call(url, 'PUT', '/book/1', book.padEnd(100_000))).status, 200)
  })
})
