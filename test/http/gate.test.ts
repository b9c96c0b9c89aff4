import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, it } from 'node:test'
import type { TrustProxy } from '../../src/config.ts'
import { requestId } from '../../src/http/gate.ts'
import { assertFailure } from '../support/raw-socket.ts'
import { serve, useServer } from './serve.ts'

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

const server = useServer({}, ({ store }) => store.create({ title: 'T', author: 'A', year: 1 }))

const send = (line: string, ...fields: string[]) =>
  server.ask(Buffer.from(server.authorized(line, ...fields), 'latin1'))

describe('the id of a request', () => {
  const given = (id: string) => requestId({ headers: { 'x-request-id': id } })

  it('is in every response, also if the request does not conform to HTTP', async () => {
    const { headers } = await server.app.inject({ url: '/healthz', headers: { host: 'a, b' } })
    assert.match(String(headers['x-request-id']), UUID)
  })

  it('is the one that came with it, or a new one each time if none came, or one that may spoil a header or the log', () => {
    for (const id of ['a', 'A-Z_a.z:0/9+=@', 'x'.repeat(128)]) assert.equal(given(id), id)
    const evil = ['', 'a b', 'x'.repeat(129), 'a\r\nX: y', 'a\n', 'a\x9b', 'é', 'a, b', '"', '<b>']
    const ids = [...evil.map(given), requestId({ headers: {} })]
    for (const id of ids) assert.match(id, UUID)
    assert.equal(new Set(ids).size, ids.length)
  })
})

// Other paths and methods: test/spec/decisions-http.test.ts.
for (const [line, status, message] of [
  ['GET /book/1#', 404, 'Book not found'],
  ['GET /book/%31?x=%31', 404, 'Book not found'],
  ['GET /docs/static/%2e%2e%2f%2e%2e%2fpackage.json', 404, 'Not found'],
  ['GET /book/\xc0\xb1', 400, 'Bad request'],
  ['OPTIONS *', 404, 'Not found'],
  ['GET /openapi-json', 404, 'Not found'],
  ['DELETE /books?x=1', 405, 'Method not allowed'],
] as const)
  it(`the path counts as it was sent: ${line}: ${message}`, async () =>
    assertFailure(await send(line), status, message))

it('a known path with another method is 405 with Allow before a body is sent, whatever the method', async () => {
  for (const method of ['PATCH', 'OPTIONS', 'QUERY', 'M-SEARCH']) {
    const response = await send(`${method} /book/abc`, 'Content-Length: 9999999')
    assertFailure(response, 405, 'Method not allowed')
    assert.equal(response.headers.get('allow'), 'DELETE, GET, HEAD, PUT')
  }
})

describe('the address of a client, of which the log tells', () => {
  for (const [trustProxy, forwarded, expected] of [
    [false, '1.1.1.1', '127.0.0.1'],
    [true, '1.1.1.1, 2.2.2.2', '2.2.2.2'],
    [2, '9.9.9.9, 1.1.1.1, 2.2.2.2', '1.1.1.1'],
    [['127.0.0.1'], '1.1.1.1, 2.2.2.2', '2.2.2.2'],
    [['10.0.0.0/8'], '1.1.1.1', '127.0.0.1'],
  ] as [TrustProxy, string, string][])
    it(`is ${expected} with TRUST_PROXY=${trustProxy} and X-Forwarded-For: ${forwarded}`, async (t) => {
      const { app, lines } = await serve(t, { logLevel: 'trace', trustProxy })
      await app.inject({ url: '/nowhere?password=x', headers: { 'x-forwarded-for': forwarded } })
      const { method, path, ip, status } = lines().find(({ msg }) => msg === 'answered')
      assert.deepEqual([method, path, ip, status], ['GET', '/nowhere', expected, 404])
    })
})

it('requests are turned away while the mean delay is over 500 ms twice in a row, except those of supervisors', async (t) => {
  let delay: number | undefined
  const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()))
  t.mock.getter(histogram, 'count', () => (delay === undefined ? 0 : 1))
  // Of the delay, ten milliseconds are the resolution.
  t.mock.getter(histogram, 'mean', () => ((delay ?? 0) + 10) * 1e6)
  const { mock: reset } = t.mock.method(histogram, 'reset')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { app, authorization } = await serve(t)
  const ask = (url: string) => app.inject({ url, headers: { authorization } })
  for (const [next, status] of [
    [501, 200],
    [501, 503],
    [500, 200],
    [501, 200],
    // No measurement at all: it has been blocked all the time.
    [undefined, 503],
    [501, 503],
    [500, 200],
  ] as const) {
    delay = next
    reset.resetCalls()
    t.mock.timers.tick(500)
    assert.equal(reset.callCount(), 1, 'the mean is that of an interval')
    const response = await ask('/books')
    assert.equal(response.statusCode, status, `after ${next} ms`)
    if (status === 503) assert.match(String(response.headers['retry-after']), /^[1-9]\d*$/)
    for (const [url, expected] of Object.entries({
      '/healthz': 200,
      '/readyz': 200,
      '/nowhere': 404,
      '/': status,
    }))
      assert.equal((await ask(url)).statusCode, expected)
    assert.equal((await app.inject('/books')).statusCode, status === 503 ? 503 : 401, 'before the token')
  }
})
