import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ACCOUNT } from '../support/service.ts'
import { serve, useServer } from './serve.ts'

const LISTED = 'https://books.example'
const OTHER_LISTED = 'http://localhost:3000'

const EXPOSED = {
  'access-control-expose-headers':
    'ETag, Link, Location, Retry-After, X-Invalid-Input, X-Request-Id, X-Search-Index, X-Stored, X-Total-Count',
}
const ALLOWED = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id',
  'access-control-max-age': '600',
}

for (const [corsOrigins, allowed, others] of [
  [[], [], [LISTED]],
  [[LISTED, OTHER_LISTED], [OTHER_LISTED], ['https://books.example.evil.example', 'null', `${LISTED}/`]],
  [['*'], [LISTED, 'null'], []],
] as const)
  describe(`with CORS_ORIGIN=${corsOrigins}`, () => {
    const server = useServer({ corsOrigins })

    /** The status, the fields of CORS, and whether the response depends on the origin. */
    async function send(method: 'GET' | 'OPTIONS', headers: Record<string, string>) {
      const { statusCode, headers: told } = await server.app.inject({ method, url: '/book/1', headers })
      const fields = Object.entries(told).filter(([name]) => name.startsWith('access-control-'))
      return [statusCode, Object.fromEntries(fields), /^Origin\b/.test(String(told.vary))]
    }
    const get = (origin: string) => send('GET', { origin })
    const preflight = (origin: string) => send('OPTIONS', { origin, 'access-control-request-method': 'PUT' })

    for (const origin of allowed)
      it(`a page of ${origin} may call the service, read why it is refused, ask what it may send, and log in`, async () => {
        const expected = { 'access-control-allow-origin': corsOrigins[0] === '*' ? '*' : origin, ...EXPOSED }
        assert.deepEqual(await get(origin), [401, expected, true])
        const login = { method: 'POST', url: '/token', payload: ACCOUNT, headers: { origin } } as const
        assert.equal((await server.app.inject(login)).statusCode, 200)
        assert.deepEqual(await preflight(origin), [204, { ...expected, ...ALLOWED }, true])
      })

    for (const origin of others)
      it(`a page of ${origin} is told nothing of CORS, and no cache may give what it gets to one that is listed`, async () => {
        const depends = corsOrigins.length > 0
        assert.deepEqual(await send('GET', {}), [401, {}, depends])
        assert.deepEqual(await get(origin), [401, {}, depends])
        assert.deepEqual(await preflight(origin), [405, {}, depends])
      })
  })

describe('beside CORS_ORIGIN', () => {
  const server = useServer({ corsOrigins: [LISTED] })
  const logIn = async (headers: Record<string, string>) =>
    (await server.app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })).statusCode

  it('no cache may give the web page to another origin, also if it has not changed', async () => {
    const { headers } = await server.app.inject({ url: '/', headers: { origin: LISTED } })
    const again = { origin: LISTED, 'if-none-match': String(headers.etag) }
    const unchanged = await server.app.inject({ url: '/', headers: again })
    assert.equal(unchanged.statusCode, 304)
    for (const { vary } of [headers, unchanged.headers]) assert.equal(vary, 'Origin, Accept-Encoding')
  })

  it('OPTIONS that is no preflight, or malformed HTTP, is refused', async () => {
    const preflight = { origin: LISTED, 'access-control-request-method': 'PUT' }
    for (const [headers, status] of [
      [{ origin: LISTED }, 405],
      [{ ...preflight, host: 'a, b' }, 400],
    ] as const)
      assert.equal(
        (await server.app.inject({ method: 'OPTIONS', url: '/book/1', headers })).statusCode,
        status,
      )
  })

  for (const [headers, status] of [
    [{ origin: 'https://here' }, 200],
    [{ origin: 'http://here:80' }, 200],
    [{ host: 'HERE:443', origin: 'https://here' }, 200],
    [{ origin: 'https://here:8443' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: LISTED, 'sec-fetch-site': 'cross-site' }, 200],
    // A proxy may put a name of its own into Host.
    [{ origin: 'https://elsewhere', 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: 'https://here', 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ host: '%', origin: 'https://here' }, 403],
  ] as const)
    it(`a login that a browser sends for a page with ${JSON.stringify(headers)} is ${status}`, async () =>
      assert.equal(await logIn({ host: 'here', ...headers }), status))

  it('behind a trusted proxy, the service is at X-Forwarded-Host for a login', async (t) => {
    const { app } = await serve(t, { trustProxy: true })
    const headers = { host: 'inside', 'x-forwarded-host': 'here', origin: 'https://here' }
    const { statusCode } = await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })
    assert.deepEqual([statusCode, await logIn(headers)], [200, 403])
  })

  it('a login that is refused has a warning in the log, once for each origin, and for twenty of them', async (t) => {
    const { app, lines } = await serve(t)
    for (let i = 0; i < 50; i++) {
      const headers = { host: 'here', origin: `https://of${i >> 1}` }
      await app.inject({ method: 'POST', url: '/token', payload: ACCOUNT, headers })
    }
    const warnings = lines().filter(({ level }) => level === 40)
    assert.deepEqual(
      warnings.map(({ origin, host }) => [origin, host]),
      Array.from({ length: 20 }, (_, i) => [`https://of${i}`, 'here']),
    )
    assert.match(warnings[0].msg, /proxy_set_header Host .* TRUST_PROXY.* CORS_ORIGIN/)
  })
})
