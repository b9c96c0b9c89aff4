import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertResponse, type Book, call, targets } from './client.ts'
import { exchange, keepOpen, request } from './raw.ts'
import { NOVEL, useSession } from './session.ts'

const MIB = 1024 * 1024

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const ALLOWED: Record<string, string[]> = {
  '/token': ['POST'],
  '/book': ['POST'],
  '/books': ['GET', 'HEAD'],
  '/book/1': ['DELETE', 'GET', 'HEAD', 'PUT'],
}
const UNKNOWN_PATHS = ['/nothing', '/book/', '/books/', '/book/1/2', '/Books', '//books', '/%62ooks', '/%']

const HOST = 'Host: localhost\r\n'
const login = (headers: string, body: string) => `POST /token HTTP/1.1\r\n${HOST}${headers}\r\n\r\n${body}`

const MALFORMED: Record<string, string | Uint8Array> = {
  'no HTTP': 'HELLO\r\n\r\n',
  'an unknown method': `FOO /books HTTP/1.1\r\n${HOST}\r\n`,
  'version 2.0 in the form of 1.1': `GET /books HTTP/2.0\r\n${HOST}\r\n`,
  'no Host': 'GET /books HTTP/1.1\r\n\r\n',
  'two Hosts': `GET /books HTTP/1.1\r\n${HOST}Host: other\r\n\r\n`,
  'a Host that is none': 'GET /books HTTP/1.1\r\nHost: a b/c\r\n\r\n',
  'a NUL in a header': `GET /books HTTP/1.1\r\n${HOST}Accept: a\0b\r\n\r\n`,
  'two Content-Lengths': login('Content-Length: 2\r\nContent-Length: 3', '{} '),
  'a chunk without its size': login('Transfer-Encoding: chunked', 'x\r\n{}\r\n0\r\n\r\n'),
  'an encoding other than chunked': login('Transfer-Encoding: x', '{}'),
  'the beginning of TLS': Buffer.from('16030100a5010000a10303', 'hex'),
}

/** What is in the header block, and its path and headers for a block of so many bytes. */
const HEADER_BLOCKS: Record<string, (size: number) => readonly [path: string, headers?: string[]]> = {
  'many small headers': (size) => ['/nothing', Array(size / 16).fill('A: b')],
  // Not so many that their number is refused.
  'many headers': (size) => ['/nothing', Array(Math.floor(size / 24)).fill('X-Small: '.padEnd(22, 'x'))],
  'the path': (size) => [`/${'x'.repeat(size)}`],
}

for (const target of targets())
  describe(`decisions on HTTP (${target.name})`, () => {
    const session = useSession(target)
    const account = { username: target.username, password: target.password }
    const TOO_LARGE = 'Request body too large'

    it('decision: the Content-Type of a JSON body is not required', async () => {
      const text = Buffer.from(JSON.stringify(NOVEL))
      for (const type of [undefined, 'application/x-www-form-urlencoded', 'text/plain', 'nonsense', '/;=']) {
        const headers = type === undefined ? {} : { 'content-type': type }
        await session.expect('POST', '/book', { text, headers }, 201, 'Book created successfully')
      }
    })

    it('decision: a body of exactly 1 MiB is accepted, and one byte more is 413 Request body too large', async () => {
      const rest = JSON.stringify({ ...NOVEL, title: '' }).length
      const withSize = (size: number) => ({ ...NOVEL, title: 'x'.repeat(size - rest) })
      const created = await session.create(withSize(MIB))
      const path = `/book/${created.id}`
      await session.expect('PUT', path, { json: withSize(MIB) }, 200, 'Book updated successfully', created)
      await session.expect('POST', '/book', { json: withSize(MIB + 1) }, 413, TOO_LARGE)
      await session.expect('PUT', path, { json: withSize(MIB + 1) }, 413, TOO_LARGE)
      await session.assertStored(created)
      const inCharacters = { ...NOVEL, title: '€'.repeat(MIB / 3) }
      await session.expect('POST', '/book', { json: inCharacters }, 413, TOO_LARGE)
    })

    it('decision: the body of a login may have 4 KiB, and is 413 Request body too large with a byte more', async () => {
      const json = JSON.stringify(account)
      const text = json.padEnd(4096 - Buffer.byteLength(json) + json.length)
      assertResponse(await call(target, 'POST', '/token', { text }), 200, 'Token generated successfully')
      assertResponse(await call(target, 'POST', '/token', { text: `${text} ` }), 413, TOO_LARGE)
    })

    it('decision: a body over 1 MiB is 413 Request body too large: also told to a client that is still sending, and without Content-Length', async () => {
      // RFC 9112 §9.6: closed at once, the connection would be reset and the response lost.
      for (let time = 1; time <= 5; time++)
        await session.expect('POST', '/book', { text: ''.padEnd(8 * MIB) }, 413, TOO_LARGE)
      const headers = [`Authorization: ${session.token}`, 'Transfer-Encoding: chunked']
      const chunked = (size: number) =>
        `${request(target, 'POST', '/book', headers)}${size.toString(16)}\r\n${JSON.stringify(NOVEL).padEnd(size)}\r\n0\r\n\r\n`
      const accepted = (await exchange(target, chunked(MIB))).body
      assert.equal(accepted.message, 'Book created successfully')
      await session.call('DELETE', `/book/${(accepted.data as Book).id}`)
      assertResponse(await exchange(target, chunked(MIB + 1)), 413, TOO_LARGE)
    })

    it('decision: answers are kept by no cache, except that a browser may keep a book to ask about it', async () => {
      const { id } = await session.create()
      const read = await session.fetch(`/book/${id}`)
      const unchanged = await session.fetch(`/book/${id}`, {
        'if-none-match': read.headers.get('etag') ?? '',
      })
      assert.equal(unchanged.status, 304)
      for (const { headers } of [read, unchanged])
        assert.equal(headers.get('cache-control'), 'private, no-cache')
      const others = [
        await session.fetch('/books', { accept: 'text/csv' }),
        await session.call('GET', '/books?limit=1'),
        await session.call('POST', '/book', { json: NOVEL }),
        await session.call('PUT', `/book/${id}`, { json: {} }),
        await session.call('POST', '/book', { text: '' }),
        await session.call('GET', '/book/x'),
        await call(target, 'POST', '/token', { json: account }),
        await call(target, 'GET', '/books'),
        await call(target, 'GET', '/nowhere'),
        await exchange(target, request(target, 'GET', '/books').replace('Host', 'Guest')),
        await exchange(target, 'what is this?\r\n\r\n'),
      ]
      for (const { headers } of others) assert.equal(headers.get('cache-control'), 'no-store')
      for (const { headers } of [unchanged, ...others])
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
    })

    it('decision: every 401 has a challenge, of no scheme that makes a browser ask for a password', async () => {
      const wrong = { json: { ...account, password: `${account.password}x` } }
      for (const { status, headers } of [
        await call(target, 'GET', '/books'),
        await call(target, 'GET', '/books', { token: 'x' }),
        await call(target, 'POST', '/token', wrong),
      ])
        assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Token realm="books"'])
      for (const token of ['Bearer', `bearer  ${session.token}`, 'Token x', 'Basic x'])
        assert.match(
          (await call(target, 'GET', '/books', { token })).headers.get('www-authenticate') ?? '',
          /^Token realm="books", .*"Send the token alone, without Bearer [^"]*"$/,
        )
      assert.equal((await session.fetch('/books?limit=1')).headers.get('www-authenticate'), null)
    })

    it('decision: a login that a page of another origin makes the browser send is 403', async () => {
      for (const origin of ['https://elsewhere.example', 'null']) {
        const response = await call(target, 'POST', '/token', { json: account, headers: { origin } })
        assertResponse(response, 403, 'Cross-origin request refused', null)
      }
    })

    it('decision: unknown path is 404 Not found; no token needed to be told so', async () => {
      for (const path of UNKNOWN_PATHS)
        for (const method of METHODS)
          assertResponse(await exchange(target, request(target, method, path)), 404, 'Not found', null)
    })

    for (const [path, allowed] of Object.entries(ALLOWED))
      it(`decision: known path, wrong method is 405 Method not allowed with Allow; no token needed to be told so: ${path}`, async () => {
        for (const method of METHODS.filter((method) => !allowed.includes(method)))
          for (const token of [undefined, session.token]) {
            const reply = await session.expect(method, path, { token }, 405, 'Method not allowed')
            const methods = (reply.headers.get('allow') ?? '').split(/, */)
            assert.deepEqual(methods.filter((name) => name !== 'OPTIONS').sort(), allowed)
          }
      })

    it('decision: HEAD is allowed where GET is, and answers the same without a body', async () => {
      const { id } = await session.create()
      for (const [path, token, status] of [
        ['/books', session.token, 200],
        ['/books', '', 401],
        ['/books/statistics', session.token, 200],
        [`/book/${id}`, session.token, 200],
        ['/book/x', session.token, 404],
      ] as const) {
        const response = await session.fetch(path, { authorization: token }, 'HEAD')
        assert.deepEqual([response.status, await response.text()], [status, ''])
      }
    })

    for (const [name, bytes] of Object.entries(MALFORMED))
      it(`decision: malformed HTTP is 400 Bad request, enveloped, then closed: ${name}`, async () =>
        assertResponse(await exchange(target, bytes), 400, 'Bad request', null))

    for (const [name, make] of Object.entries(HEADER_BLOCKS))
      it(`decision: a header block over 16 KiB, or of over 1,000 fields, is 431 Request header fields too large, enveloped, then closed: ${name}`, async () => {
        const get = (size: number) => request(target, 'GET', ...make(size))
        assertResponse(await exchange(target, get(15 * 1024)), 404, 'Not found', null)
        const refused = await exchange(target, keepOpen(get(17 * 1024)))
        assertResponse(refused, 431, 'Request header fields too large', null)
      })
  })
