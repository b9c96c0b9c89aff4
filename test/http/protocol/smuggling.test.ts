import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const service = useService()

const HOST = 'Host: test\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const NO_MORE = '0\r\n\r\n'

const get = (fields: string, version = '1.1') => `GET /books HTTP/${version}\r\n${fields}\r\n`
const post = (fields: string, body: string, version = '1.1') =>
  `POST /token HTTP/${version}\r\n${HOST}${fields}\r\n${body}`
const coded = (coding: string, version = '1.1') =>
  post(`Transfer-Encoding: ${coding}\r\n`, `2\r\n{}\r\n${NO_MORE}`, version)

/** Requests of which another server could think that they end elsewhere, or are for somebody else. */
const AMBIGUOUS: Record<string, string> = {
  'Content-Length, then Transfer-Encoding': post(`Content-Length: 6\r\n${CHUNKED}`, NO_MORE),
  'Transfer-Encoding, then Content-Length': post(`${CHUNKED}Content-Length: 6\r\n`, NO_MORE),
  'two Content-Lengths': post('Content-Length: 2\r\nContent-Length: 6\r\n', '{}'),
  'two equal Content-Lengths': post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  'a Content-Length with a blank in it': post('Content-Length: 2 6\r\n', '{}'),
  'bare line feeds': 'GET /books HTTP/1.1\nHost: test\n\n',
  'one bare line feed after a header': `GET /books HTTP/1.1\r\n${HOST}A: x\nB: y\r\n\r\n`,
  'a bare line feed at the end of the head': `GET /books HTTP/1.1\r\n${HOST}\n`,
  'a chunk whose size ends in a bare line feed': post(CHUNKED, `2\n{}\r\n${NO_MORE}`),
  'a chunk that ends in a bare line feed': post(CHUNKED, `2\r\n{}\n${NO_MORE}`),
  'a chunk with blanks around its size': post(CHUNKED, ` 2 \r\n{}\r\n${NO_MORE}`),
  'a chunk whose size is 0x2': post(CHUNKED, `0x2\r\n{}\r\n${NO_MORE}`),
  'a chunk longer than its size': post(CHUNKED, `1\r\n{}\r\n${NO_MORE}`),
  'a bare line feed in a chunk extension': post(CHUNKED, `2;a\nb\r\n{}\r\n${NO_MORE}`),
  'obsolete folding of a header': get(`${HOST}A: x\r\n B: y\r\n`),
  'obsolete folding of Transfer-Encoding': post('Transfer-Encoding:\r\n chunked\r\n', NO_MORE),
  'Transfer-Encoding on HTTP/1.0': coded('chunked', '1.0'),
  'Transfer-Encoding on HTTP/1.0 that is to be kept open': post(
    `Connection: keep-alive\r\n${CHUNKED}`,
    NO_MORE,
    '1.0',
  ),
  'gzip, chunked': coded('gzip, chunked'),
  'chunked, chunked': coded('chunked, chunked'),
  'chunked twice': post(CHUNKED + CHUNKED, NO_MORE),
  xchunked: coded('xchunked'),
  'chunked, with a vertical tab before it': coded('\x0bchunked'),
  'chunked, then identity': coded('chunked, identity'),
  identity: post('Transfer-Encoding: identity\r\n', '{}'),
  'a blank before the colon': post('Transfer-Encoding : chunked\r\n', NO_MORE),
  'two Hosts': get(`${HOST}Host: other\r\n`),
  'two equal Hosts': get(HOST + HOST),
  'two Hosts in one': get('Host: test, other\r\n'),
  'no Host': get(''),
  'a Host with a path': get('Host: test/x\r\n'),
  'a Host with a user': get('Host: me@test\r\n'),
  'an absolute URL': `GET http://test/books HTTP/1.1\r\n${HOST}\r\n`,
  'an absolute URL of another host': `GET http://other/books HTTP/1.1\r\n${HOST}\r\n`,
  'an absolute URL of another scheme': `GET https://test/books HTTP/1.1\r\n${HOST}\r\n`,
  'an absolute URL on HTTP/1.0': 'GET http://test/books HTTP/1.0\r\n\r\n',
  'NUL in a header': get(`${HOST}A: \0\r\n`),
  'NUL in the name of a header': get(`${HOST}A\0: x\r\n`),
  'a header without a name': get(`${HOST}: x\r\n`),
  CONNECT: head('CONNECT test:443'),
}

describe('a request that others may read otherwise is 400, and what follows it is no request', () => {
  const BOOK = '{"title":"smuggled","author":"A","year":1}'
  const smuggled = () =>
    head('POST /book', `Authorization: ${service.token}`, `Content-Length: ${BOOK.length}`) + BOOK

  async function books(): Promise<unknown[]> {
    const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
    return ((await response.json()) as { data: unknown[] }).data
  }

  /** Sends each in a packet of its own, and expects one refusal and the end of the connection. */
  async function assertRefused(...packets: string[]): Promise<void> {
    using connection = await RawConnection.open(service.url)
    for (const packet of packets) await connection.send(Buffer.from(packet, 'latin1'))
    const response = await connection.response()
    assertFailure(response, 400, 'Bad request')
    assert.equal(response.headers.get('connection'), 'close')
    assert.equal(await connection.rest(), '', 'one response')
    assert.deepEqual(await books(), [], 'nothing was stored')
  }

  for (const [name, bytes] of Object.entries(AMBIGUOUS)) {
    it(`${name}: in one packet`, () => assertRefused(bytes + smuggled().repeat(3)))
  }

  for (const name of ['an absolute URL', 'gzip, chunked', 'chunked twice', 'two Hosts']) {
    it(`${name}: in a packet for each byte`, () => assertRefused(...(AMBIGUOUS[name] ?? ''), smuggled()))
  }

  it('a client that goes on sending does not lose the refusal', async () => {
    for (const name of ['an absolute URL', 'gzip, chunked', 'two Hosts']) {
      using connection = await RawConnection.open(service.url)
      connection.stopReading()
      await connection.send(AMBIGUOUS[name] ?? '')
      for (let i = 0; i < 10; i++) {
        await setTimeout(20)
        await connection.send(smuggled())
      }
      assertFailure(await connection.response(), 400, 'Bad request')
      assert.equal(await connection.rest(), '')
      assert.equal(connection.wasCut, false)
    }
    assert.deepEqual(await books(), [])
  })

  it('what is refused has no effect of its own', async () => {
    const authorization = `Authorization: ${service.token}`
    const chunked = `${BOOK.length.toString(16)}\r\n${BOOK}\r\n${NO_MORE}`
    for (const bytes of [
      head('POST http://test/book', authorization, `Content-Length: ${BOOK.length}`) + BOOK,
      head('POST /book', authorization, 'Transfer-Encoding: gzip, chunked') + chunked,
      head('POST /book', authorization, 'Host: test', `Content-Length: ${BOOK.length}`) + BOOK,
    ]) {
      await assertRefused(bytes)
    }
  })

  it('nor is what follows one with a header block over 16 KiB', async () => {
    using connection = await RawConnection.open(service.url)
    const fields = Array.from({ length: 200 }, (_, i) => `A${i}: ${'x'.repeat(78)}`)
    await connection.send(head('GET /books', ...fields) + smuggled())
    assertFailure(await connection.response(), 431, 'Request header fields too large')
    assert.equal(await connection.rest(), '')
    assert.deepEqual(await books(), [])
  })

  it('nor what follows a request that asks for the connection to be closed', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(head('GET /nowhere', 'Connection: close') + smuggled())
    assertFailure(await connection.response(), 404, 'Not found')
    await connection.rest()
    await setTimeout(100)
    assert.deepEqual(await books(), [])
  })

  it('but what came before it is answered', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(head('GET /nowhere').repeat(2) + get(HOST + HOST) + smuggled())
    assertFailure(await connection.response(), 404, 'Not found')
    assertFailure(await connection.response(), 404, 'Not found')
    assertFailure(await connection.response(), 400, 'Bad request')
    assert.equal(await connection.rest(), '')
    assert.deepEqual(await books(), [])
  })
})
