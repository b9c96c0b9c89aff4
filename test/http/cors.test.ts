import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { assertFailure, head, refusal } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const LISTED = 'https://books.example'
const OTHER_LISTED = 'http://localhost:3000'
const METHODS = 'GET, HEAD, POST, PUT, DELETE'

interface Answer {
  readonly status: number | undefined
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

function send(url: string, method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(url + path, { method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
    })
      .on('error', reject)
      .end()
  })
}

const preflight = (origin: string, method: string) => ({
  origin,
  'access-control-request-method': method,
  'access-control-request-headers': 'authorization,content-type',
})

function corsHeaders({ headers }: Answer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
}

const NOT_ALLOWED = '{"status":405,"message":"Method not allowed","data":null}'
const NOT_FOUND = '{"status":404,"message":"Not found","data":null}'

describe('without CORS_ORIGIN', () => {
  const service = useService()

  it('no response has a header of CORS, and a preflight is a method that is not allowed', async () => {
    for (const origin of [LISTED, 'null', service.url]) {
      const read = await send(service.url, 'GET', '/books', { origin, authorization: service.token })
      assert.equal(read.status, 200)
      assert.deepEqual(corsHeaders(read), {})
      for (const method of ['PUT', 'DELETE']) {
        const asked = await send(service.url, 'OPTIONS', '/book/1', preflight(origin, method))
        assert.equal(asked.body, NOT_ALLOWED)
        assert.deepEqual(corsHeaders(asked), {})
      }
    }
  })
})

for (const [CORS_ORIGIN, allowed, others] of [
  [
    `${LISTED},${OTHER_LISTED}`,
    [LISTED, OTHER_LISTED],
    [
      'https://books.example.evil.example',
      'http://books.example',
      'https://books.example:8443',
      'null',
      'https://BOOKS.example',
      `${LISTED}/`,
      `${LISTED}, ${OTHER_LISTED}`,
      '*',
    ],
  ],
  ['*', [LISTED, 'https://anything.example', 'null'], []],
] as const) {
  describe(`with CORS_ORIGIN=${CORS_ORIGIN}`, () => {
    const service = useService((started) => started.createBook(), { CORS_ORIGIN })
    const get = (headers: Record<string, string>) =>
      send(service.url, 'GET', '/book/1', { authorization: service.token, ...headers })

    for (const origin of allowed) {
      it(`a page of ${origin} may call the service`, async () => {
        const expected = {
          'access-control-allow-origin': CORS_ORIGIN === '*' ? '*' : origin,
          'access-control-expose-headers':
            'ETag, Link, Location, Retry-After, X-Invalid-Input, X-Request-Id, X-Search-Index, X-Stored, X-Total-Count',
        }
        const read = await get({ origin })
        assert.equal(read.status, 200)
        assert.deepEqual(corsHeaders(read), expected)
        assert.equal(read.headers.vary, 'Origin')
        const refused = await get({ origin, authorization: 'x' })
        assert.equal(refused.status, 401)
        assert.deepEqual(corsHeaders(refused), expected, 'the page may read why it is refused')
        assert.equal(refused.headers.vary, 'Origin')
      })

      for (const method of ['PUT', 'DELETE', 'POST']) {
        it(`a page of ${origin} may ask whether it may ${method} with Authorization`, async () => {
          const asked = await send(service.url, 'OPTIONS', '/book/1', preflight(origin, method))
          assert.equal(asked.status, 204)
          assert.equal(asked.body, '')
          assert.deepEqual(corsHeaders(asked), {
            'access-control-allow-origin': CORS_ORIGIN === '*' ? '*' : origin,
            'access-control-allow-methods': METHODS,
            'access-control-allow-headers':
              'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id',
            'access-control-expose-headers':
              'ETag, Link, Location, Retry-After, X-Invalid-Input, X-Request-Id, X-Search-Index, X-Stored, X-Total-Count',
            'access-control-max-age': '600',
          })
        })
      }
    }

    for (const origin of others) {
      it(`a page of ${origin} is told nothing of CORS`, async () => {
        const read = await get({ origin })
        assert.equal(read.status, 200)
        assert.deepEqual(corsHeaders(read), {})
        assert.equal(read.headers.vary, 'Origin', 'no cache may give this response to a page that is listed')
        const asked = await send(service.url, 'OPTIONS', '/book/1', preflight(origin, 'PUT'))
        assert.equal(asked.body, NOT_ALLOWED)
        assert.deepEqual(corsHeaders(asked), {})
      })
    }

    it('no cache may give the page to another origin, also if it has not changed', async () => {
      const { headers } = await send(service.url, 'GET', '/', { origin: LISTED })
      const again = { origin: LISTED, 'if-none-match': String(headers.etag) }
      const unchanged = await send(service.url, 'GET', '/', again)
      assert.equal(unchanged.status, 304)
      assert.deepEqual(unchanged.headers.vary, headers.vary)
    })

    it('without an Origin nothing is different', async () => {
      assert.deepEqual(corsHeaders(await get({})), {})
    })

    it('OPTIONS that is no preflight is 405 on a path that is known, and 404 on others', async () => {
      for (const headers of [{}, { origin: LISTED }, { 'access-control-request-method': 'PUT' }]) {
        for (const path of ['/book/1', '/book', '/books', '/token', '/']) {
          const { status, body, headers: told } = await send(service.url, 'OPTIONS', path, headers)
          assert.deepEqual({ status, body }, { status: 405, body: NOT_ALLOWED }, path)
          assert.ok(told.allow !== undefined)
        }
        for (const path of ['/nowhere', '/book/']) {
          const { status, body } = await send(service.url, 'OPTIONS', path, headers)
          assert.deepEqual({ status, body }, { status: 404, body: NOT_FOUND }, path)
        }
      }
    })

    it('a preflight that is malformed HTTP is 400', async () => {
      const fields = [`Origin: ${LISTED}`, 'Access-Control-Request-Method: PUT', 'Host: other']
      assertFailure(await refusal(service.url, head('OPTIONS /book/1', ...fields)), 400, 'Bad request')
    })

    it('cookies and other credentials of the browser are never asked for', async () => {
      assert.equal((await get({ origin: LISTED })).headers['access-control-allow-credentials'], undefined)
    })
  })
}
