import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, targets } from './client.ts'
import { exchange, request } from './raw.ts'
import { NOVEL, useSession } from './session.ts'

const MIB = 1024 * 1024

const CONTENT_TYPES = [
  'application/x-www-form-urlencoded',
  'text/plain',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-8',
  'nonsense',
  '/;=',
]

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const ALLOWED: Record<string, string[]> = {
  '/token': ['POST'],
  '/book': ['POST'],
  '/books': ['GET'],
  '/book/1': ['DELETE', 'GET', 'PUT'],
}
const UNKNOWN_PATHS = [
  ...[
    '/nothing',
    '/book/',
    '/books/',
    '/token/',
    '/book/1/',
    '/books/1',
    '/book/1/2',
    '/token/1',
    '/v1/books',
  ],
  ...['/Books', '/BOOK/1', '//books', '//book/1', '/book//1', '/books%2F', '/%00', '/%', '/books;x', '/*'],
]

for (const target of targets()) {
  describe(`decisions on HTTP (${target.name})`, () => {
    const session = useSession(target)
    const { username, password } = target
    const book = Buffer.from(JSON.stringify(NOVEL))

    it('decision: the Content-Type of a JSON body is not required: absent', async () => {
      const { id } = await session.create()
      const login = Buffer.from(JSON.stringify({ username, password }))
      const responses = [
        await call(target, 'POST', '/token', { text: login }),
        await session.call('POST', '/book', { text: book }),
        await session.call('PUT', `/book/${id}`, { text: book }),
      ]
      assert.deepEqual(
        responses.map(({ status }) => status),
        [200, 201, 200],
      )
    })

    for (const type of CONTENT_TYPES) {
      it(`decision: the Content-Type of a JSON body is not required: ${type}`, async () => {
        const headers = { 'content-type': type }
        const { id } = await session.create()
        const responses = [
          await call(target, 'POST', '/token', { json: { username, password }, headers }),
          await session.call('POST', '/book', { json: NOVEL, headers }),
          await session.call('PUT', `/book/${id}`, { json: NOVEL, headers }),
        ]
        assert.deepEqual(
          responses.map(({ status }) => status),
          [200, 201, 200],
        )
      })
    }

    it('decision: a body of exactly 1 MiB is accepted', async () => {
      const title = 'x'.repeat(MIB - Buffer.byteLength(JSON.stringify({ ...NOVEL, title: '' })))
      const created = await session.create({ title })
      assert.equal(created.title, title)
      await session.assertStored(created)
      const json = { title: 'x'.repeat(MIB - Buffer.byteLength(JSON.stringify({ title: '' }))) }
      const updated = await session.call('PUT', `/book/${created.id}`, { json })
      assertResponse(updated, 200, 'Book updated successfully', { ...created, ...json })
    })

    it('decision: the body of a login may have 4 KiB, and is 413 Request body too large with a byte more', async () => {
      const login = JSON.stringify({ username, password })
      const text = login.padEnd(4096 - Buffer.byteLength(login) + login.length)
      assertResponse(await call(target, 'POST', '/token', { text }), 200, 'Token generated successfully')
      const response = await call(target, 'POST', '/token', { text: `${text} ` })
      assertResponse(response, 413, 'Request body too large', null)
    })

    it('decision: a body over 1 MiB is 413 Request body too large: one byte more', async () => {
      const created = await session.create()
      const text = JSON.stringify(NOVEL).padEnd(MIB + 1)
      assertResponse(await session.call('POST', '/book', { text }), 413, 'Request body too large', null)
      const updated = await session.call('PUT', `/book/${created.id}`, { text })
      assertResponse(updated, 413, 'Request body too large', null)
      await session.assertStored(created)
    })

    it('decision: a body over 1 MiB is 413 Request body too large: counted in bytes, not characters', async () => {
      const json = { ...NOVEL, title: '€'.repeat(MIB / 3) }
      assertResponse(await session.call('POST', '/book', { json }), 413, 'Request body too large', null)
    })

    // RFC 9112 §9.6: closed at once, the connection would be reset and the response lost.
    it('decision: a body over 1 MiB is 413 Request body too large: also told to a client that is still sending', async () => {
      const text = ''.padEnd(8 * MIB)
      for (let time = 1; time <= 5; time++) {
        assertResponse(await session.call('POST', '/book', { text }), 413, 'Request body too large', null)
      }
    })

    it('decision: a body over 1 MiB is 413 Request body too large: without Content-Length', async () => {
      const headers = [`Authorization: ${session.token}`, 'Transfer-Encoding: chunked']
      const chunked = (size: number) =>
        `${request(target, 'POST', '/book', headers)}${size.toString(16)}\r\n${JSON.stringify(NOVEL).padEnd(size)}\r\n0\r\n\r\n`
      const accepted = (await exchange(target, chunked(MIB))).body
      assert.equal(accepted.message, 'Book created successfully')
      await session.call('DELETE', `/book/${(accepted.data as Book).id}`)
      assertResponse(await exchange(target, chunked(MIB + 1)), 413, 'Request body too large', null)
    })

    it('decision: answers are kept by no cache, except that a browser may keep a book to ask about it', async () => {
      const { id } = await session.create()
      const { headers } = await session.call('GET', `/book/${id}`)
      assert.equal(headers.get('cache-control'), 'private, no-cache')
      const condition = { authorization: session.token, 'if-none-match': headers.get('etag') ?? '' }
      const unchanged = await fetch(`${target.url}/book/${id}`, { headers: condition })
      assert.equal(unchanged.status, 304)
      assert.equal(unchanged.headers.get('cache-control'), 'private, no-cache')
      const file = { authorization: session.token, accept: 'text/csv' }
      const others = [
        unchanged,
        await fetch(`${target.url}/books`, { headers: file }),
        await session.call('GET', '/books?limit=1'),
        await session.call('POST', '/book', { json: NOVEL }),
        await session.call('PUT', `/book/${id}`, { json: {} }),
        await session.call('POST', '/book', { text: '' }),
        await session.call('GET', `/book/${await session.missingId()}`),
        await session.call('DELETE', `/book/${id}`),
        await call(target, 'POST', '/token', { json: { username, password } }),
        await call(target, 'GET', '/books'),
        await call(target, 'GET', '/nowhere'),
        await exchange(target, request(target, 'GET', '/books').replace('Host', 'Guest')),
        await exchange(target, 'what is this?\r\n\r\n'),
      ]
      for (const [i, { headers: told }] of others.entries()) {
        if (i > 0) assert.equal(told.get('cache-control'), 'no-store')
        assert.equal(told.get('x-content-type-options'), 'nosniff')
      }
    })

    it('decision: every 401 has a challenge, of no scheme that makes a browser ask for a password', async () => {
      const wrong = { username, password: `${password}x` }
      for (const response of [
        await call(target, 'GET', '/books'),
        await call(target, 'GET', '/books', { token: 'x' }),
        await call(target, 'POST', '/token', { json: wrong }),
      ]) {
        assert.equal(response.status, 401)
        assert.equal(response.headers.get('www-authenticate'), 'Token realm="books"')
      }
      for (const scheme of ['Bearer ', 'bearer  ', 'Token ', 'Basic '])
        for (const token of [session.token, 'x']) {
          const answer = await call(target, 'GET', '/books', { token: scheme + token })
          assertResponse(answer, 401, 'Invalid token', null)
          const challenge = answer.headers.get('www-authenticate') ?? ''
          assert.match(challenge, /^Token realm="books", .*"Send the token alone, without Bearer [^"]*"$/)
        }
      const { id } = await session.create()
      assert.equal((await session.call('GET', `/book/${id}`)).headers.get('www-authenticate'), null)
    })

    it('decision: a login that a page of another origin makes the browser send is 403', async () => {
      for (const origin of ['https://elsewhere.example', 'null']) {
        const options = { json: { username, password }, headers: { origin } }
        const response = await call(target, 'POST', '/token', options)
        assertResponse(response, 403, 'Cross-origin request refused', null)
      }
    })

    for (const path of UNKNOWN_PATHS) {
      it(`decision: unknown path is 404 Not found; no token needed to be told so: ${path}`, async () => {
        for (const method of METHODS) {
          assertResponse(await exchange(target, request(target, method, path)), 404, 'Not found', null)
        }
      })
    }

    for (const [path, allowed] of Object.entries(ALLOWED)) {
      for (const method of METHODS.filter((method) => !allowed.includes(method))) {
        it(`decision: known path, wrong method is 405 Method not allowed with Allow; no token needed to be told so: ${method} ${path}`, async () => {
          for (const options of [{}, { token: 'x' }, { token: session.token }]) {
            const reply = await call(target, method, path, options)
            assertResponse(reply, 405, 'Method not allowed', null)
            const methods = (reply.headers.get('allow') ?? '').split(',').map((name) => name.trim())
            assert.deepEqual(methods.filter((name) => name !== 'HEAD' && name !== 'OPTIONS').sort(), allowed)
            assert.equal(methods.includes('HEAD'), allowed.includes('GET'), 'HEAD goes with GET')
          }
        })
      }
    }

    it('decision: HEAD is allowed where GET is, and answers the same without a body', async () => {
      const { id } = await session.create()
      const head = async (path: string, token?: string) => {
        const headers = token === undefined ? {} : { authorization: token }
        const response = await fetch(target.url + path, { method: 'HEAD', headers })
        assert.equal(await response.text(), '')
        return response.status
      }
      assert.equal(await head('/books', session.token), 200)
      assert.equal(await head(`/book/${id}`, session.token), 200)
      assert.equal(await head(`/book/${await session.missingId()}`, session.token), 404)
      assert.equal(await head('/books'), 401)
    })
  })
}
