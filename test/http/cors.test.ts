import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ACCOUNT } from '../support/service.ts'
import { serve, useServer } from './serve.ts'

const LISTED = 'https://books.example'
const OTHER_LISTED = 'http://localhost:3000'

const ALLOWED = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id',
  'access-control-max-age': '600',
}
const EXPOSED = {
  'access-control-expose-headers':
    'ETag, Link, Location, Retry-After, X-Invalid-Input, X-Request-Id, X-Search-Index, X-Stored, X-Total-Count',
}

for (const [corsOrigins, allowed, others] of [
  [[], [], [LISTED, 'null']],
  [
    [LISTED, OTHER_LISTED],
    [LISTED, OTHER_LISTED],
    ['https://books.example.evil.example', 'http://books.example', 'null', `${LISTED}/`, '*'],
  ],
  [['*'], [LISTED, 'null'], []],
] as const)
  describe(`with CORS_ORIGIN=${corsOrigins}`, () => {
    const server = useServer({ corsOrigins })

    async function send(method: 'GET' | 'OPTIONS', url: string, headers: Record<string, string>) {
      const response = await server.app.inject({ method, url, headers })
      const { statusCode, payload, headers: told } = response
      const fields = Object.entries(told).filter(([name]) => name.startsWith('access-control-'))
      return { status: statusCode, payload, headers: told, cors: Object.fromEntries(fields) }
    }
    const preflight = (origin: string) => ({ origin, 'access-control-request-method': 'PUT' })

    for (const origin of allowed) {
      const expected = {
        'access-control-allow-origin': corsOrigins[0] === '*' ? '*' : origin,
        ...EXPOSED,
      }

      it(`a page of ${origin} may call the service, and read why it is refused`, async () => {
        for (const [authorization, status] of [
          [server.authorization, 200],
          ['x', 401],
        ] as const) {
          const response = await send('GET', '/books?limit=1', { origin, authorization })
          assert.deepEqual([response.status, response.cors], [status, expected])
          assert.match(String(response.headers.vary), /^Origin\b/)
        }
      })

      it(`a page of ${origin} may ask what it may send`, async () => {
        const { status, payload, cors } = await send('OPTIONS', '/book/1', preflight(origin))
        assert.deepEqual([status, payload, cors], [204, '', { ...expected, ...ALLOWED }])
      })
    }

    for (const origin of others)
      it(`a page of ${origin} is told nothing of CORS`, async () => {
        const read = await send('GET', '/books', { origin, authorization: server.authorization })
        assert.deepEqual([read.status, read.cors], [200, {}])
        // No cache may give this response to a page that is listed.
        assert.equal(/Origin/.test(String(read.headers.vary)), corsOrigins.length > 0)
        const asked = await send('OPTIONS', '/book/1', preflight(origin))
        assert.deepEqual([asked.status, asked.cors], [405, {}])
      })

    it('OPTIONS that is no preflight is 405 on a path that is known, and 404 on others', async () => {
      for (const headers of [{}, { origin: LISTED }, { 'access-control-request-method': 'PUT' }])
        for (const [path, status] of [
          ['/book/1', 405],
          ['/', 405],
          ['/nowhere', 404],
          ['/book/', 404],
        ] as const)
          assert.equal((await send('OPTIONS', path, headers as Record<string, string>)).status, status)
    })
  })

it('no cache may give the web page to another origin, also if it has not changed', async (t) => {
  const { app } = await serve(t, { corsOrigins: [LISTED] })
  const { headers } = await app.inject({ url: '/', headers: { origin: LISTED } })
  const again = { origin: LISTED, 'if-none-match': String(headers.etag) }
  const unchanged = await app.inject({ url: '/', headers: again })
  assert.deepEqual([unchanged.statusCode, unchanged.headers.vary], [304, headers.vary])
})

it('a preflight that is malformed HTTP is 400', async (t) => {
  const { app } = await serve(t, { corsOrigins: ['*'] })
  const headers = { origin: LISTED, 'access-control-request-method': 'PUT', host: 'a, b' }
  assert.equal((await app.inject({ method: 'OPTIONS', url: '/book/1', headers })).statusCode, 400)
})

describe('a login that a browser sends for a page', () => {
  const server = useServer({ corsOrigins: [LISTED] })
  const logIn = async (headers: Record<string, string>) =>
    (await server.app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })).statusCode

  for (const [headers, status] of [
    [{}, 200],
    [{ origin: 'https://here' }, 200],
    [{ origin: 'http://here:80' }, 200],
    [{ origin: 'https://here:8443' }, 403],
    [{ origin: 'https://elsewhere' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: LISTED }, 200],
    [{ origin: LISTED, 'sec-fetch-site': 'cross-site' }, 200],
    [{ origin: 'https://here', 'sec-fetch-site': 'same-origin' }, 200],
    [{ origin: 'https://elsewhere', 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: 'https://here', 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
  ] as const)
    it(`with ${JSON.stringify(headers)} is ${status}`, async () =>
      assert.equal(await logIn({ host: 'here', ...headers }), status))

  it('is refused also where the service has no valid name', async () =>
    assert.equal(await logIn({ host: '%', origin: 'https://here' }), 403))

  it('has a warning in the log, once for each origin, and for twenty of them', async (t) => {
    const { app, lines } = await serve(t)
    for (let i = 0; i < 50; i++) {
      const headers = { host: 'here', origin: `https://of${i >> 1}` }
      await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })
    }
    const warnings = lines().filter(({ msg }) => msg.startsWith('a login was refused, because'))
    assert.deepEqual(
      warnings.map(({ origin, host }) => [origin, host]),
      Array.from({ length: 20 }, (_, i) => [`https://of${i}`, 'here']),
    )
  })
})

it('X-Forwarded-For that is ignored has one warning in the log', async (t) => {
  for (const [trustProxy, expected] of [
    [false, 1],
    [1, 0],
  ] as const) {
    const { app, lines } = await serve(t, { trustProxy })
    for (const headers of [{}, { 'x-forwarded-for': '::1' }, { 'x-forwarded-for': '::2' }])
      await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })
    const warnings = lines().filter(({ msg }) => msg.startsWith('X-Forwarded-For is ignored'))
    assert.equal(warnings.length, expected)
  }
})
