import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { dropRest } from '../../../src/http/protocol/close.ts'
import { assertFailure, RawConnection, refusal } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const KIB = 1024

const service = useService()

const HOST = 'Host: test\r\n'
const get = (fields: string) => `GET /books HTTP/1.1\r\n${fields}\r\n`
const post = (fields: string, body: string) => `POST /token HTTP/1.1\r\n${HOST}${fields}\r\n${body}`
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

describe('malformed HTTP is answered with 400 Bad request, and the connection closed', () => {
  for (const [name, bytes] of Object.entries({
    'no HTTP at all': 'what is this?\r\n\r\n',
    'the beginning of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'an unknown method': `BREW /books HTTP/1.1\r\n${HOST}\r\n`,
    'a method in lower case': `get /books HTTP/1.1\r\n${HOST}\r\n`,
    'an unknown version': `GET /books HTTP/1.2\r\n${HOST}\r\n`,
    'another protocol': `GET /books SIP/2.0\r\n${HOST}\r\n`,
    'a space in the path': `GET /bo oks HTTP/1.1\r\n${HOST}\r\n`,
    'a control character in the path': `GET /bo\x01oks HTTP/1.1\r\n${HOST}\r\n`,
    'a relative path': `GET books HTTP/1.1\r\n${HOST}\r\n`,
    'line feeds without carriage returns': 'GET /books HTTP/1.1\nHost: test\n\n',
    'a space in the name of a header': get(`${HOST}Bad header: x\r\n`),
    'a space behind the name of a header': get(`${HOST}Authorization : x\r\n`),
    'a header without a colon': get(`${HOST}Authorization\r\n`),
    'a header without a name': get(`${HOST}: x\r\n`),
    'a folded header': get(`${HOST}A: x\r\n y\r\n`),
    'NUL in a header': get(`${HOST}A: \0\r\n`),
    'a bare carriage return in a header': get(`${HOST}A: x\ry\r\n`),
    'no Host': get(''),
    'no Host, with an expectation': get('Expect: x\r\n'),
    'two Hosts': get(`${HOST}${HOST}`),
    'Content-Length and Transfer-Encoding': post(`Content-Length: 2\r\n${CHUNKED}`, '{}'),
    'Transfer-Encoding and Content-Length': post(`${CHUNKED}Content-Length: 2\r\n`, '0\r\n\r\n'),
    'two different Content-Lengths': post('Content-Length: 2\r\nContent-Length: 3\r\n', '{}'),
    'twice the same Content-Length': post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
    'a list as Content-Length': post('Content-Length: 2, 2\r\n', '{}'),
    'a negative Content-Length': post('Content-Length: -1\r\n', '{}'),
    'a signed Content-Length': post('Content-Length: +2\r\n', '{}'),
    'a hexadecimal Content-Length': post('Content-Length: 0x2\r\n', '{}'),
    'a Content-Length beyond any number': post(`Content-Length: ${'9'.repeat(30)}\r\n`, '{}'),
    'an empty Content-Length': post('Content-Length: \r\n', '{}'),
    'a Transfer-Encoding that does not end in chunked': post(
      'Transfer-Encoding: chunked, x\r\n',
      '0\r\n\r\n',
    ),
    'a chunk without a size': post(CHUNKED, 'zz\r\n{}\r\n0\r\n\r\n'),
    'a chunk with a negative size': post(CHUNKED, '-2\r\n{}\r\n0\r\n\r\n'),
    'a chunk longer than its size': post(CHUNKED, '1\r\n{}\r\n0\r\n\r\n'),
    'a bad chunk after a good one': post(CHUNKED, '2\r\n{}\r\nzz\r\n'),
    'a chunk with a size beyond any number': post(CHUNKED, `${'f'.repeat(20)}\r\n{}\r\n`),
    'CONNECT to another host': 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
    'CONNECT to an endpoint': `CONNECT /books HTTP/1.1\r\n${HOST}\r\n`,
  })) {
    it(name, async () => {
      assertFailure(await refusal(service.url, Buffer.from(bytes, 'latin1')), 400, 'Bad request')
    })
  }

  it('a bad chunk in the body of a book, although its token is good', async () => {
    const head = `POST /book HTTP/1.1\r\n${HOST}Authorization: ${service.token}\r\n${CHUNKED}\r\n`
    assertFailure(await refusal(service.url, `${head}zz\r\n`), 400, 'Bad request')
  })

  it('every byte of it in a packet of its own', async () => {
    using connection = await RawConnection.open(service.url)
    for (const byte of get(`${HOST}Bad header: x\r\n`)) await connection.send(byte)
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
  })

  it('after good requests on the same connection', async () => {
    using connection = await RawConnection.open(service.url)
    for (let i = 0; i < 2; i++) {
      await connection.send(get(HOST))
      assertFailure(await connection.response(), 401, 'Authorization token required')
    }
    await connection.send('what is this?\r\n\r\n')
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
  })
})

describe('a header block over 16 KiB is answered with 431, and the connection closed', () => {
  for (const [name, bytes] of Object.entries({
    'in one header': get(`${HOST}A: ${'x'.repeat(16 * KIB)}\r\n`),
    'in many headers': get(HOST + `A: ${'x'.repeat(100)}\r\n`.repeat(180)),
    'in the name of a header': get(`${HOST}${'x'.repeat(16 * KIB)}: x\r\n`),
    'in the path': `GET /${'x'.repeat(17 * KIB)} HTTP/1.1\r\n${HOST}\r\n`,
    'in the trailers of a body': post(CHUNKED, `2\r\n{}\r\n0\r\nA: ${'x'.repeat(17 * KIB)}\r\n\r\n`),
    'without an end': `GET /books HTTP/1.1\r\n${HOST}A: ${'x'.repeat(17 * KIB)}`,
  })) {
    it(name, async () => {
      assertFailure(await refusal(service.url, bytes), 431, 'Request header fields too large')
    })
  }

  it('of a client that sends 200 kB and reads only afterwards', async () => {
    using connection = await RawConnection.open(service.url)
    connection.stopReading()
    await connection.send(`GET /books HTTP/1.1\r\n${HOST}A: `)
    for (let sent = 0; sent < 200_000; sent += 10_000) await connection.send('x'.repeat(10_000))
    assertFailure(await connection.response(), 431, 'Request header fields too large')
    assert.equal(await connection.rest(), '')
    assert.equal(connection.wasCut, false)
  })

  it('but not one of 15 KiB', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(get(`${HOST}Authorization: ${service.token}\r\nA: ${'x'.repeat(15 * KIB)}\r\n`))
    assert.equal((await connection.response()).status, 200)
  })
})

it('after all this the service answers, and has logged no failure', async () => {
  const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
  assert.deepEqual(await response.json(), { status: 200, message: 'Books retrieved successfully', data: [] })
  assert.doesNotMatch(service.output(), /"level":[456]0/)
})

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

it('a client that is refused is not cut at once after the process stood still', async (t) => {
  const { request } = await beginRequest(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  dropRest(request)
  t.mock.timers.tick(5000)
  assert.equal(request.socket.destroyed, false)
  t.mock.timers.tick(1000)
  assert.equal(request.socket.destroyed, true)
})

it('a client that is refused and sends the rest in time is not cut later', async (t) => {
  const { client, request } = await beginRequest(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  dropRest(request)
  const closed = once(request, 'close')
  await client.send('123456')
  await closed
  for (let i = 0; i < 2; i++) t.mock.timers.tick(5000)
  assert.equal(request.socket.destroyed, false)
})

it('a request whose client has gone leaves no timer that would keep the process from ending', async (t) => {
  const { client, request } = await beginRequest(t)
  const closed = new Promise((resolve) => request.on('error', () => {}).once('close', resolve))
  client[Symbol.dispose]()
  await closed
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  dropRest(request)
  assert.equal(timers(), before)
})
