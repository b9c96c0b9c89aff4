import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import { pageOf } from '../../src/catalogue/page.ts'
import { type QueryOptions, type Store, StoreUnavailable } from '../../src/catalogue/store.ts'
import { drainable } from '../../src/http/graceful-shutdown.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { type Served, serve, useServer } from './serve.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }
const failure = (status: number, message: string) => JSON.stringify({ status, message, data: null })
const isError = ({ level }: { level: number }) => level >= 50

/** Requests of each kind, and the function of the store that answers them. */
const REQUESTS = [
  ['GET', '/book/1', 'find'],
  ['HEAD', '/book/1', 'find'],
  ['POST', '/book', 'create'],
  ['PUT', '/book/1', 'update'],
  // Whether there is such a book comes before its body (§4 rule 3).
  ['PUT', '/book/1', 'find', '[]'],
  ['DELETE', '/book/1', 'delete'],
  ['GET', '/books', 'page'],
  ['HEAD', '/books?sort=title', 'page'],
  ['GET', '/books?limit=1', 'page'],
  ['GET', '/books?limit=1&count=true', 'count'],
  ['GET', '/books/statistics', 'statistics'],
] as const

describe('when the store fails', () => {
  let error: Error
  const fail = () => Promise.reject(error)
  const operations = [...new Set(REQUESTS.map(([, , operation]) => operation))]
  const server = useServer({
    replaced: () => Object.fromEntries(operations.map((operation) => [operation, fail])),
  })
  let logged = 0

  const send = (method: (typeof REQUESTS)[number][0], url: string, payload: string | object = BOOK) =>
    server.app.inject({
      method,
      url,
      headers: { authorization: server.authorization },
      ...((method === 'PUT' || method === 'POST') && { payload }),
    })

  for (const [method, url, operation, body] of REQUESTS)
    it(`${method} ${url} is 500 if it fails unexpectedly, with the cause in the log alone, and else 503 with Retry-After, which says whether ${operation} may be done`, async () => {
      // A status of its own does not make it a bad request.
      error = Object.assign(new TypeError('the image is malformed'), { statusCode: 500 })
      const response = await send(method, url, body)
      assert.equal(response.payload, method === 'HEAD' ? '' : failure(500, 'Internal server error'))
      assert.equal(response.statusCode, 500)
      assert.doesNotMatch(JSON.stringify(response.headers), /malformed|x-total-count/i)
      const [line, ...others] = server.lines().filter(isError).slice(logged)
      assert.deepEqual([line.method, line.err.message, others], [method, 'the image is malformed', []])
      assert.match(line.err.stack, /error-handler\.test\.ts/)
      const isWrite = !['GET', 'HEAD'].includes(method)
      for (const [nothingWritten, stored] of [
        [true, 'no'],
        [false, 'unknown'],
      ] as const) {
        error = new StoreUnavailable('the store is away', { nothingWritten })
        const { headers, statusCode } = await send(method, url, body)
        assert.deepEqual([statusCode, headers['retry-after']], [503, '1'])
        assert.equal(headers['x-stored'], isWrite ? stored : undefined)
        assert.equal(headers['x-total-count'], undefined)
        assert.match(String(headers['x-request-id']), /^[\w-]{36}$/)
      }
      logged = server.lines().filter(isError).length
    })
})

it('of an outage, one line stands for many failures, until the store is ready or the service ends', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const fail = () => Promise.reject(new StoreUnavailable('the store is away'))
  const { app, authorization, lines } = await serve(t, { replaced: () => ({ find: fail, ready: fail }) })
  const ask = () => app.inject({ url: '/book/1', headers: { authorization } })
  await ask()
  for (let time = 1; time <= 2; time++) {
    t.mock.timers.tick(10_000)
    await new Promise(setImmediate)
  }
  await ask()
  await app.close()
  const told = lines().map(({ msg }) => msg)
  assert.deepEqual(
    told.filter((msg) => msg.includes('the store is')),
    [
      'a request failed because the store is unavailable',
      'more requests failed because the store is unavailable',
    ],
  )
})

/** A first page, after which the list goes on as it is told to. */
const listThat = (goesOn: (options: QueryOptions) => Promise<never>): Partial<Store> => ({
  page: async (_query, after, _bounds, options = {}) =>
    after === undefined
      ? pageOf([{ id: 1, ...BOOK, title: 'x'.repeat(100_000) }], { last: [1], more: true })
      : await goesOn(options),
})

/** Asks for the list over HTTP/1.0, where only a reset shows that it was cut. */
async function oldList({ url, authorized }: Served, coding = 'identity') {
  const connection = await RawConnection.open(url)
  const request = authorized('GET /books', `Accept-Encoding: ${coding}`)
  await connection.send(request.replace('HTTP/1.1', 'HTTP/1.0'))
  return connection
}

describe('a list that has begun', () => {
  for (const coding of ['identity', 'gzip', 'zstd'])
    it(`is cut when the store fails, so that its half cannot be taken for the whole, and the log tells why (${coding})`, async (t) => {
      const fail = () => Promise.reject(new Error('malformed'))
      const server = await serve(t, { replaced: () => listThat(fail) })
      const { url, authorization, lines } = server
      const headers = { authorization, 'accept-encoding': coding }
      await assert.rejects(async () => (await fetch(`${url}/books`, { headers })).arrayBuffer(), TypeError)
      const [line, ...others] = lines().filter(isError)
      assert.deepEqual(
        [line.msg, line.err.message, others],
        ['a list was cut: the store failed midway', 'malformed', []],
      )
      using connection = await oldList(server, coding)
      const received = await connection.rest()
      assert.ok(connection.wasCut || received === '')
    })

  for (const what of ['nothing moves on its connection', 'the service stops and does not wait any longer'])
    it(`is cut when ${what}, so that its half cannot be taken for the whole; a request that has no response yet is closed`, async (t) => {
      const asked = Promise.withResolvers<void>()
      const wait = () => {
        asked.resolve()
        return new Promise<never>(() => {})
      }
      const server = await serve(t, { replaced: () => listThat(wait) })
      const sockets: Socket[] = []
      server.app.server.on('connection', (socket: Socket) => sockets.push(socket))
      const drain = drainable(server.app.server)
      using begun = await RawConnection.open(server.url)
      await begun.send(head('POST /token', 'Content-Length: 100'))
      using list = await oldList(server)
      await asked.promise
      t.mock.timers.enable({ apis: ['setTimeout'] })
      if (what.startsWith('nothing')) for (const socket of sockets) socket.emit('timeout')
      else {
        void drain()
        while (server.app.server.listening) await new Promise(setImmediate)
        t.mock.timers.tick(5000)
      }
      for (const connection of [list, begun]) await connection.rest()
      assert.deepEqual([list.wasCut, begun.wasCut], [true, false])
    })

  it('is no failure when its client has gone', async (t) => {
    const asked = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const wait = async ({ signal }: QueryOptions) => {
      asked.resolve()
      await once(signal as AbortSignal, 'abort')
      left.resolve()
      throw signal?.reason
    }
    const { url, authorization, lines } = await serve(t, { replaced: () => listThat(wait) })
    const leaving = new AbortController()
    await fetch(`${url}/books?sort=title`, { headers: { authorization }, signal: leaving.signal })
    await asked.promise
    leaving.abort()
    await left.promise
    await new Promise(setImmediate)
    assert.deepEqual(lines().filter(isError), [])
  })
})

it('POST /token is 500 Could not generate token when it cannot be signed (§4, §7)', async (t) => {
  class FailingAuth extends Auth {
    override issue = () => Promise.reject(new Error('the key is refused'))
  }
  const { app, lines } = await serve(t, { auth: new FailingAuth(ACCOUNT, SECRET) })
  const { payload } = await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT })
  assert.equal(payload, failure(500, 'Could not generate token'))
  const [line, ...others] = lines().filter(isError)
  assert.deepEqual([line.msg, others], ['a token could not be signed', []])
})
