import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { pageOf } from '../../../src/catalogue/page.ts'
import { dropRest } from '../../../src/http/protocol/close.ts'
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
  'an unknown version': get(HOST, 'HTTP/1.2'),
  'a relative path': get(HOST, 'HTTP/1.1', 'books'),
  'an absolute URL': get(HOST, 'HTTP/1.1', 'http://test/books'),
  'an absolute URL on HTTP/1.0': get('', 'HTTP/1.0', 'http://test/books'),
  'CONNECT to an endpoint': head('CONNECT /books'),
  'bare line feeds': 'GET /books HTTP/1.1\nHost: test\n\n',
  'a blank before the colon': post('Transfer-Encoding : chunked\r\n', NO_MORE),
  'a folded header': post('Transfer-Encoding:\r\n chunked\r\n', NO_MORE),
  'no Host, with an expectation': get('Expect: x\r\n'),
  'two equal Hosts': get(HOST + HOST),
  'two Hosts in one': get('Host: test, other\r\n'),
  'a Host with a path': get('Host: test/x\r\n'),
  'a Host with a user': get('Host: me@test\r\n'),
  'Content-Length, then Transfer-Encoding': post(`Content-Length: 6\r\n${CHUNKED}`, NO_MORE),
  'Transfer-Encoding, then Content-Length': post(`${CHUNKED}Content-Length: 6\r\n`, NO_MORE),
  'a list as Content-Length': post('Content-Length: 2, 2\r\n', '{}'),
  'chunked on HTTP/1.0': coded('chunked', 'HTTP/1.0'),
  'gzip, chunked': coded('gzip, chunked'),
  'chunked twice': post(CHUNKED + CHUNKED, NO_MORE),
  xchunked: coded('xchunked'),
  'chunked, then identity': coded('chunked, identity'),
  identity: post('Transfer-Encoding: identity\r\n', '{}'),
  'a chunk longer than its size': post(CHUNKED, `1\r\n{}\r\n${NO_MORE}`),
}

describe('a connection is closed after what cannot be read', () => {
  const server = useServer({ importLimit: 10 * MIB })
  const authorized = (line: string, ...fields: string[]) => server.authorized(line, ...fields)
  const smuggled = () => authorized('POST /book', `Content-Length: ${BOOK.length}`) + BOOK
  const assertNothingStored = async () => assert.equal(await server.store.count({}), 0)

  for (const [name, bytes] of Object.entries(MALFORMED))
    it(`${name} is 400, and what follows it is no request`, async () => {
      const sent = Buffer.from(bytes + smuggled().repeat(3), 'latin1')
      assertFailure(await refusal(server.url, sent), 400, 'Bad request')
      await assertNothingStored()
    })

  it('what is refused has no effect of its own', async () => {
    const chunked = `${BOOK.length.toString(16)}\r\n${BOOK}\r\n${NO_MORE}`
    const length = `Content-Length: ${BOOK.length}`
    for (const bytes of [
      authorized('POST http://test/book', length) + BOOK,
      authorized('POST /book', 'Transfer-Encoding: gzip, chunked') + chunked,
      authorized('POST /book', 'Host: test', length) + BOOK,
      `${authorized('POST /book', 'Transfer-Encoding: chunked')}zz\r\n`,
    ])
      assertFailure(await refusal(server.url, bytes), 400, 'Bad request')
    await assertNothingStored()
  })

  it('it is so with every byte in a packet of its own, and what came before is answered', async () => {
    using connection = await RawConnection.open(server.url)
    for (const byte of head('GET /nowhere').repeat(2) + get(HOST + HOST)) await connection.send(byte)
    await connection.send(smuggled())
    for (let i = 0; i < 2; i++) assertFailure(await connection.response(), 404, 'Not found')
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
    await assertNothingStored()
  })

  it('a client that asks for the end is heard no further', async () => {
    const sent = head('GET /nowhere', 'Connection: close') + smuggled()
    assertFailure(await refusal(server.url, sent), 404, 'Not found')
    await assertNothingStored()
  })

  for (const [name, bytes] of Object.entries({
    'in the trailers of a body': post(CHUNKED, `2\r\n{}\r\n0\r\nA: ${'x'.repeat(17 * 1024)}\r\n\r\n`),
    'without an end': `${get(`${HOST}A: ${'x'.repeat(17 * 1024)}`)}`.trimEnd(),
  }))
    it(`a header block over 16 KiB is 431: ${name}`, async () =>
      assertFailure(await refusal(server.url, bytes), 431, 'Request header fields too large'))

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
    ['a Content-Length over the limit', 413, ['Content-Type: text/csv', `Content-Length: ${MIB ** 3}`], ''],
    ['a wrong type', 415, [], ''],
  ] as const)
    it(`a client that asks for the end, and sends all of its file before it reads, gets the response: ${what}`, async () => {
      using connection = await RawConnection.open(server.url)
      connection.stopReading()
      const body = start + 'T,A,1\n'.repeat(MIB)
      const length = status === 413 ? [] : [`Content-Length: ${body.length}`]
      const request = once(server.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
      await connection.send(authorized('POST /books/import', 'Connection: close', ...fields, ...length))
      const [, response] = await request
      if (start === '' && !response.writableFinished) await once(response, 'finish')
      await connection.send(body)
      assert.equal((await connection.response()).status, status)
      assert.equal(await connection.rest(), '')
      assert.equal(connection.wasCut, false)
    })

  it('but is cut if its body does not end', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    using connection = await RawConnection.open(server.url)
    const fields = ['Connection: close', 'Transfer-Encoding: chunked']
    await connection.send(`${head('POST /books/import', ...fields)}1\r\n \r\n`)
    assertFailure(await connection.response(), 401, 'Authorization token required')
    for (let i = 0; i < 2; i++) t.mock.timers.tick(1000)
    assert.equal(await connection.rest(), '')
  })

  it('nothing of this is a failure in the log', () => server.assertNoFailures())
})

const GARBAGE = 'what is this?\r\n\r\n'

/** What makes the parser give up, at each of the places where it can, what tells of it, and the response to it. */
const FATAL = [
  ['garbage', GARBAGE, 'clientError', 400, 'Bad request'],
  [
    'a bad chunk',
    `${head('POST /token', 'Transfer-Encoding: chunked')}zz\r\n`,
    'clientError',
    400,
    'Bad request',
  ],
  [
    'a header block over 16 KiB',
    head('GET /books', `A: ${'x'.repeat(17 * 1024)}`),
    'clientError',
    431,
    'Request header fields too large',
  ],
  ['CONNECT', head('CONNECT test:443'), 'connect', 400, 'Bad request'],
] as const

describe('requests whose responses take long', () => {
  let asked = Promise.withResolvers<void>()
  let go = Promise.withResolvers<void>()
  const waitToGo = async () => {
    asked.resolve()
    await go.promise
    asked = Promise.withResolvers()
    go = Promise.withResolvers()
  }
  const server = useServer({
    replaced: (store) => ({
      find: async (id) => {
        await waitToGo()
        return { id, title: 'slow', author: 'A', year: 1 }
      },
      create: async (book) => {
        await waitToGo()
        return store.create(book)
      },
      // More than the buffers of the system take.
      page: async (_query, after) => {
        const id = Number(after?.[0] ?? 0) + 1
        const book = { id, title: 'x'.repeat(MIB), author: 'A', year: 1 }
        return pageOf([book], { last: [id], more: id < 20 })
      },
    }),
  })
  const authorized = (line: string, ...fields: string[]) => server.authorized(line, ...fields)

  for (const [name, status, request] of [
    ['GET /book/7', 200, () => authorized('GET /book/7')],
    ['POST /book', 201, () => authorized('POST /book', `Content-Length: ${BOOK.length}`) + BOOK],
  ] as const) {
    it(`decision: ${name} of a client that closes its side of the connection is for nobody`, async () => {
      using connection = await RawConnection.open(server.url)
      await connection.send(request())
      await asked.promise
      connection.finish()
      assert.equal(await connection.rest(), '')
      go.resolve()
    })

    for (const [kind, bytes, event, refusal, message] of FATAL)
      for (const packets of [1, 2])
        it(`${name}, then ${kind}, in ${packets} packets: both are answered in turn`, async () => {
          using connection = await RawConnection.open(server.url)
          const refused = once(server.app.server, event)
          await connection.send(packets === 1 ? request() + bytes : request())
          await asked.promise
          if (packets === 2) await connection.send(bytes)
          await refused
          go.resolve()
          assert.equal((await connection.response()).status, status)
          assertFailure(await connection.response(), refusal, message)
          assert.equal(await connection.rest(), '')
        })
  }

  it('three requests, then garbage: all are answered, in their order', async () => {
    using connection = await RawConnection.open(server.url)
    const requests = ['GET /book/7', 'DELETE /book/999', 'DELETE /book/998'].map((line) => authorized(line))
    await connection.send(requests.join('') + GARBAGE)
    await asked.promise
    go.resolve()
    assert.equal((await connection.response()).status, 200)
    for (let i = 0; i < 2; i++) assertFailure(await connection.response(), 404, 'Book not found')
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
  })

  it('a list that the client has not taken yet, then garbage: the list is whole', async () => {
    using connection = await RawConnection.open(server.url)
    connection.stopReading()
    const refused = once(server.app.server, 'clientError')
    await connection.send(authorized('GET /books') + GARBAGE)
    await refused
    const [list = '', refusal = '', ...more] = (await connection.rest()).split(/(?=HTTP\/1\.1 )/)
    assert.match(list, /^HTTP\/1\.1 200 OK\r\n/)
    assert.ok(list.endsWith('\r\n]}\r\n0\r\n\r\n'))
    assert.match(refusal, /^HTTP\/1\.1 400 .*"message":"Bad request","data":null\}$/s)
    assert.deepEqual(more, [])
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
  const authorized = (line: string, ...fields: string[]) => server.authorized(line, ...fields)

  for (const [name, request] of Object.entries({
    'HTTP/1.0 without Host': () =>
      authorized('GET /books').replace('HTTP/1.1', 'HTTP/1.0').replace('Host: test\r\n', ''),
    'HTTP/1.0 with Host': () => authorized('GET /books').replace('HTTP/1.1', 'HTTP/1.0'),
    'an empty Host': () => authorized('GET /books').replace('Host: test', 'Host:'),
    'an expectation of something unknown': () => authorized('GET /books', 'Expect: foo'),
    'an empty query': () => authorized('GET /books?'),
    'a query without a meaning': () => authorized('GET /openapi.json?x=%zz&y[]=1&y[]=2&__proto__=3'),
    'a body that nobody asked for': () => `${authorized('GET /books', 'Content-Length: 3')}{{{`,
    'empty lines before': () => `\r\n\r\n${authorized('GET /books')}`,
  }))
    it(`${name} is served`, async () => assert.equal((await server.ask(request())).status, 200))

  it('an upgrade is served, as the last request of its connection: Node drops the rest', async () => {
    for (const protocol of ['h2c', 'websocket']) {
      const upgrade = authorized('GET /books', 'Connection: Upgrade', `Upgrade: ${protocol}`)
      assert.equal((await refusal(server.url, upgrade + authorized('DELETE /book/1'))).status, 200)
    }
  })

  it('an expectation of 100-continue is met', async () => {
    using connection = await RawConnection.open(server.url)
    for (const [line, body, ...fields] of [
      ['PUT /book/1', '{}'],
      ['POST /books/import?dry_run=true', 'title,author,year\n', 'Content-Type: text/csv'],
    ] as const) {
      const length = `Content-Length: ${body.length}`
      await connection.send(authorized(line, 'Expect: 100-continue', length, ...fields))
      assert.equal((await connection.response()).status, 100)
      await connection.send(body)
      const { status, headers } = await connection.response()
      assert.deepEqual([status, headers.get('connection')], [200, 'keep-alive'])
    }
  })

  for (const [status, line, ...fields] of [
    [401, 'PUT /book/1', 'Authorization: x', 'Content-Length: 2'],
    [404, 'POST /nowhere', 'Content-Length: 2'],
    [405, 'PUT /books', 'Content-Length: 2'],
    [413, 'POST /book', 'Content-Length: 10000000000'],
    [413, 'POST /books/import', 'Content-Length: 10000000000', 'Content-Type: text/csv'],
    [415, 'POST /books/import', 'Content-Length: 2'],
  ] as const)
    it(`decision: a client that expects 100-continue need not send a body that the headers refuse: ${line}, ${status}`, async () => {
      const request = (status === 401 ? head : authorized)(line, 'Expect: 100-continue', ...fields)
      assert.equal((await refusal(server.url, request)).status, status)
    })
})

describe('a client that is refused', () => {
  /** A request of which a part of the body is missing. */
  async function beginRequest(t: TestContext) {
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const client = await RawConnection.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => client[Symbol.dispose]())
    const coming = once(server, 'request') as Promise<[IncomingMessage]>
    await client.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nbody`)
    const [request] = await coming
    return { client, request }
  }

  it('has two seconds to send the rest, and is not cut at once after the process stood still', async (t) => {
    const { request } = await beginRequest(t)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    dropRest(request)
    t.mock.timers.tick(5000)
    assert.equal(request.socket.destroyed, false)
    t.mock.timers.tick(1000)
    assert.equal(request.socket.destroyed, true)
  })

  it('and sends the rest in time is not cut later', async (t) => {
    const { client, request } = await beginRequest(t)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    dropRest(request)
    const closed = once(request, 'close')
    await client.send('123456')
    await closed
    for (let i = 0; i < 2; i++) t.mock.timers.tick(5000)
    assert.equal(request.socket.destroyed, false)
  })

  it('and has gone leaves no timer that would keep the process from ending', async (t) => {
    const { client, request } = await beginRequest(t)
    const closed = new Promise((resolve) => request.on('error', () => {}).once('close', resolve))
    client[Symbol.dispose]()
    await closed
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    dropRest(request)
    assert.equal(timers(), before)
  })
})
