import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { assertFailure, head, RawConnection, refusal } from '../../support/raw-socket.ts'
import { useServer } from '../serve.ts'

const MIB = 1024 * 1024
const HOST = 'Host: test\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const NO_MORE = '0\r\n\r\n'
const BOOK = '{"title":"T","author":"A","year":1}'

const get = (fields: string, version = 'HTTP/1.1', path = '/books') =>
  `GET ${path} ${version}\r\n${fields}\r\n`
const post = (fields: string, body: string, version = 'HTTP/1.1') =>
  `POST /token ${version}\r\n${HOST}${fields}\r\n${body}`
const coded = (coding: string, version = 'HTTP/1.1') =>
  post(`Transfer-Encoding: ${coding}\r\n`, `2\r\n{}\r\n${NO_MORE}`, version)

/** Requests of which another server may think that they end elsewhere or are for somebody else. Others: test/spec. */
const MALFORMED: Record<string, string> = {
  'an absolute URL': get(HOST, 'HTTP/1.1', 'http://test/books'),
  'no Host, with an expectation': get('Expect: x\r\n'),
  'two equal Hosts': get(HOST + HOST),
  'a Host with a user': get('Host: me@test\r\n'),
  'Content-Length, then Transfer-Encoding': post(`Content-Length: 6\r\n${CHUNKED}`, NO_MORE),
  'chunked on HTTP/1.0': coded('chunked', 'HTTP/1.0'),
  'gzip, chunked': coded('gzip, chunked'),
  'chunked twice': post(CHUNKED + CHUNKED, NO_MORE),
  'a chunk longer than its size': post(CHUNKED, `1\r\n{}\r\n${NO_MORE}`),
}

describe('a connection is closed after what cannot be read', () => {
  const server = useServer({ importLimit: 10 * MIB })
  const smuggled = () => server.authorized('POST /book', `Content-Length: ${BOOK.length}`) + BOOK
  const assertNothingStored = async () => assert.equal(await server.store.count({}), 0)

  // That Node keeps to them: test/spec/decisions-slow.long.ts.
  it('a request may take 10 seconds for its head, and 30 in all (§7); without traffic, a connection is closed after 72', () => {
    const { headersTimeout, requestTimeout, timeout } = server.app.server
    assert.deepEqual([headersTimeout, requestTimeout, timeout], [10_000, 30_000, 72_000])
  })

  for (const [name, bytes] of Object.entries(MALFORMED))
    it(`${name} is 400, and what follows it is no request`, async () => {
      const sent = Buffer.from(bytes + smuggled().repeat(3), 'latin1')
      assertFailure(await refusal(server.url, sent), 400, 'Bad request')
      await assertNothingStored()
    })

  it('a client that asks for the end is heard no further', async () => {
    const sent = head('GET /nowhere', 'Connection: close') + smuggled()
    assertFailure(await refusal(server.url, sent), 404, 'Not found')
    await assertNothingStored()
  })

  it('a client that resets its connection harms nobody', async () => {
    for (const line of ['CONNECT a:1', 'GET /books', 'BREW /coffee'])
      for (let i = 0; i < 50; i++) {
        const connection = await RawConnection.open(server.url)
        await connection.send(head(line))
        connection.reset()
      }
    assert.equal((await server.ask(server.authorized('GET /books'))).status, 200)
  })

  it('a header block over 16 KiB is 431, also in the trailers of a body', async () => {
    const bytes = post(CHUNKED, `2\r\n{}\r\n0\r\nA: ${'x'.repeat(17 * 1024)}\r\n\r\n`)
    assertFailure(await refusal(server.url, bytes), 431, 'Request header fields too large')
  })

  it('a client that goes on sending loses neither refusal', async () => {
    for (const [bytes, more, status, message] of [
      [get(HOST + HOST), smuggled(), 400, 'Bad request'],
      [get(`${HOST}A: `).trimEnd(), 'x'.repeat(10_000), 431, 'Request header fields too large'],
    ] as const) {
      using connection = await RawConnection.open(server.url)
      connection.stopReading()
      await connection.send(bytes)
      for (let i = 0; i < 20; i++) await connection.send(more)
      assertFailure(await connection.response(), status, message)
      assert.equal(await connection.rest(), '')
      assert.equal(connection.wasCut, false)
    }
  })

  for (const [what, status, fields, start] of [
    ['a bad second line', 400, ['Content-Type: text/csv'], `title,author,year\n"${'x'.repeat(3 * MIB)}`],
    ['a wrong type', 415, [], ''],
  ] as const)
    it(`a client that asks for the end, and sends all of its file before it reads, gets the response: ${what}`, async () => {
      using connection = await RawConnection.open(server.url)
      connection.stopReading()
      const body = start + 'T,A,1\n'.repeat(MIB)
      const request = once(server.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
      const length = `Content-Length: ${body.length}`
      await connection.send(server.authorized('POST /books/import', 'Connection: close', ...fields, length))
      const [, response] = await request
      if (start === '' && !response.writableFinished) await once(response, 'finish')
      await connection.send(body)
      assert.equal((await connection.response()).status, status)
      assert.equal(await connection.rest(), '')
      assert.equal(connection.wasCut, false)
    })

  for (const [what, status, request] of [
    ['that has asked for the end', 401, () => head('POST /book', 'Connection: close', CHUNKED.trim())],
    ['that has not', 413, () => server.authorized('POST /book', CHUNKED.trim())],
  ] as const)
    it(`a client ${what} has two seconds to send the rest of its body, also if the process stood still, then it is cut`, async (t) => {
      // Node would cut it later.
      server.app.server.requestTimeout = 0
      t.mock.timers.enable({ apis: ['setTimeout'] })
      const connected = once(server.app.server, 'connection') as Promise<[Socket]>
      using connection = await RawConnection.open(server.url)
      const [socket] = await connected
      await connection.send(request() + `10000\r\n${' '.repeat(0x10000)}\r\n`.repeat(17))
      assert.equal((await connection.response()).status, status)
      t.mock.timers.tick(5000)
      assert.equal(socket.destroyed, false)
      t.mock.timers.tick(1000)
      assert.equal(await connection.rest(), '')
    })

  it('nothing of this is a failure in the log', () => server.assertNoFailures())
})

const GARBAGE = 'what is this?\r\n\r\n'

/** What makes the parser give up, at the places where it can, what tells of it, and the response to it. */
const FATAL = [
  ['garbage', GARBAGE, 'clientError', 400],
  ['a header block over 16 KiB', head('GET /books', `A: ${'x'.repeat(17 * 1024)}`), 'clientError', 431],
  ['CONNECT', head('CONNECT test:443'), 'connect', 400],
] as const

describe('requests whose responses take long', () => {
  let asked = Promise.withResolvers<void>()
  let go = Promise.withResolvers<void>()
  const server = useServer({
    replaced: () => ({
      find: async (id) => {
        asked.resolve()
        await go.promise
        asked = Promise.withResolvers()
        go = Promise.withResolvers()
        return { id, title: 'slow', author: 'A', year: 1 }
      },
    }),
  })

  it('decision: the response to a client that closes its side of the connection is for nobody', async () => {
    using connection = await RawConnection.open(server.url)
    await connection.send(server.authorized('GET /book/7'))
    await asked.promise
    connection.finish()
    assert.equal(await connection.rest(), '')
    go.resolve()
  })

  for (const [kind, bytes, event, status] of FATAL)
    for (const packets of [1, 2])
      it(`a request, then ${kind}, in ${packets} packets: both are answered in turn`, async () => {
        using connection = await RawConnection.open(server.url)
        const refused = once(server.app.server, event)
        const request = server.authorized('GET /book/7')
        await connection.send(packets === 1 ? request + bytes : request)
        await asked.promise
        if (packets === 2) await connection.send(bytes)
        await refused
        go.resolve()
        assert.equal((await connection.response()).status, 200)
        assert.equal((await connection.response()).status, status)
        assert.equal(await connection.rest(), '')
      })

  it('three requests, then garbage: all are answered, in their order', async () => {
    using connection = await RawConnection.open(server.url)
    const requests = ['GET /book/7', 'DELETE /book/999', 'DELETE /book/998'].map((line) =>
      server.authorized(line),
    )
    await connection.send(requests.join('') + GARBAGE)
    await asked.promise
    go.resolve()
    assert.equal((await connection.response()).status, 200)
    for (let i = 0; i < 2; i++) assertFailure(await connection.response(), 404, 'Book not found')
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
  })

  it('a request that is answered before its body, which is malformed, gets no second response', async () => {
    using connection = await RawConnection.open(server.url)
    await connection.send(`${head('POST /book', 'Transfer-Encoding: chunked')}zz\r\n`)
    assertFailure(await connection.response(), 401, 'Authorization token required')
    assert.equal(await connection.rest(), '')
  })
})

describe('unusual requests that are good', () => {
  const server = useServer({}, ({ store }) => store.create(JSON.parse(BOOK)))

  for (const [name, request] of Object.entries({
    'HTTP/1.0 without Host': () =>
      server.authorized('GET /books').replace('HTTP/1.1', 'HTTP/1.0').replace('Host: test\r\n', ''),
    'an empty Host': () => server.authorized('GET /books').replace('Host: test', 'Host:'),
    'an IPv6 address as Host': () => server.authorized('GET /books').replace('Host: test', 'Host: [::1]:80'),
    'an expectation of something unknown': () => server.authorized('GET /books', 'Expect: foo'),
    'an empty query': () => server.authorized('GET /books?'),
    'a body that nobody asked for': () => `${server.authorized('GET /books', 'Content-Length: 3')}{{{`,
    'empty lines before': () => `\r\n\r\n${server.authorized('GET /books')}`,
    'a transfer coding in capitals': () =>
      `${server.authorized('PUT /book/1', 'Transfer-Encoding: CHUNKED')}2\r\n{}\r\n${NO_MORE}`,
  }))
    it(`${name} is served`, async () => assert.equal((await server.ask(request())).status, 200))

  it('a client that does not close the connection after its refusal is cut', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true })
    const [accepted] = (await once(server.app.server, 'connection')) as [Socket]
    socket.on('error', () => {}).write(GARBAGE)
    await once(socket.resume(), 'end')
    assert.equal(accepted.destroyed, false)
    for (let half = 0; half < 2; half++) t.mock.timers.tick(1000)
    assert.equal(accepted.destroyed, true)
    socket.destroy()
  })

  it('an upgrade is served, as the last request of its connection: Node drops the rest', async () => {
    for (const protocol of ['h2c', 'websocket']) {
      const upgrade = server.authorized('GET /books', 'Connection: Upgrade', `Upgrade: ${protocol}`)
      assert.equal((await refusal(server.url, upgrade + server.authorized('DELETE /book/1'))).status, 200)
    }
  })

  it('an expectation of 100-continue is met', async () => {
    using connection = await RawConnection.open(server.url)
    for (const [line, body, ...fields] of [
      ['PUT /book/1', '{}'],
      ['POST /books/import?dry_run=true', 'title,author,year\n', 'Content-Type: text/csv'],
    ] as const) {
      const length = `Content-Length: ${body.length}`
      await connection.send(server.authorized(line, 'Expect: 100-continue', length, ...fields))
      assert.equal((await connection.response()).status, 100)
      await connection.send(body)
      const { status, headers } = await connection.response()
      assert.deepEqual([status, headers.get('connection')], [200, 'keep-alive'])
    }
  })

  for (const [status, line, ...fields] of [
    [401, 'PUT /book/1', 'Authorization: x', 'Content-Length: 2'],
    [413, 'PUT /book/1', 'Content-Length: 10000000000'],
    [413, 'POST /books/import', 'Content-Length: 10000000000', 'Content-Type: text/csv'],
    [415, 'POST /books/import', 'Content-Length: 2'],
  ] as const)
    it(`decision: a client that expects 100-continue need not send a body that the headers refuse: ${line}, ${status}`, async () => {
      const request = (status === 401 ? head : server.authorized)(line, 'Expect: 100-continue', ...fields)
      assert.equal((await refusal(server.url, request)).status, status)
    })
})
