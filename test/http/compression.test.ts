import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { CompressedStreams, compress } from '../../src/http/compression.ts'
import { useService } from '../support/use-service.ts'

const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync }
const CODINGS = ['gzip', 'zstd'] as const

/** So many that the list of all is a stream. */
const BOOKS = 5000

describe('decision: lists are compressed for clients that prefer it', () => {
  const service = useService((started) =>
    started.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: 'Ä', year: i })),
    ),
  )

  /** Without the Accept-Encoding that fetch adds, and without its decoding. */
  async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const options = { method, headers: { authorization: service.token, ...headers } }
    const [response] = (await once(request(service.url + path, options).end(), 'response')) as [
      IncomingMessage,
    ]
    return { headers: response.headers, body: Buffer.concat(await response.toArray()) }
  }

  for (const path of ['/books', '/books?sort=-year', '/books?limit=100&count=true'])
    for (const [accept, coding] of [
      ['application/json', 'zstd'],
      ['application/json', 'gzip'],
      ['text/csv', 'zstd'],
      ['application/x-ndjson', 'gzip'],
    ] as const)
      it(`${path} as ${accept} is the same in ${coding}, but shorter`, async () => {
        const plain = await get(path, { accept })
        const accepted = coding === 'zstd' ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'
        const compressed = await get(path, { accept, 'accept-encoding': accepted })
        assert.equal(plain.headers['content-encoding'], undefined)
        assert.equal(compressed.headers['content-encoding'], coding)
        assert.ok(DECODERS[coding](compressed.body).equals(plain.body))
        assert.ok(2 * compressed.body.length < plain.body.length)
        for (const { headers } of [plain, compressed]) assert.equal(headers.vary, 'Accept, Accept-Encoding')
        for (const name of ['content-type', 'content-disposition', 'link', 'x-total-count'])
          assert.equal(compressed.headers[name], plain.headers[name])
      })

  for (const coding of [
    'gzip;q=0',
    'identity',
    'br',
    '*;q=0',
    'gzip;q=0.5, identity',
    'zstd;q=0.5, identity',
  ])
    it(`not with Accept-Encoding: ${coding}`, async () => {
      const { headers, body } = await get('/books?limit=100', { 'accept-encoding': coding })
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(JSON.parse(body.toString()).data.length, 100)
    })

  for (const path of ['/books?limit=1', '/book/1', '/books/statistics', '/books?limit=0'])
    it(`not ${path}: it is short, or has a strong entity tag, or is no list`, async () => {
      const { headers } = await get(path, { 'accept-encoding': 'gzip' })
      assert.equal(headers['content-encoding'], undefined)
    })

  it('HEAD has the header fields of GET', async () => {
    const { headers } = await get('/books?limit=100', { 'accept-encoding': 'gzip' })
    const head = await get('/books?limit=100', { 'accept-encoding': 'gzip' }, 'HEAD')
    for (const name of ['content-encoding', 'content-length', 'vary'])
      assert.equal(head.headers[name], headers[name])
    // A whole list is compressed only if it is long, and HEAD reads none.
    const { headers: whole } = await get('/books', { 'accept-encoding': 'gzip' }, 'HEAD')
    assert.equal(whole['content-encoding'], undefined)
  })
})

describe('a stream that is compressed', () => {
  it('is one of two: others are not, until one of them has ended', async () => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const streams = new CompressedStreams()
    const begin = async (): Promise<[ServerResponse, boolean]> => {
      request(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
        .end()
        .on('error', () => {})
      const [, raw] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
      return [raw, streams.begin({ raw })]
    }
    const [[first, one], [, two], [, three]] = [await begin(), await begin(), await begin()]
    assert.deepEqual([one, two, three], [true, true, false])
    first.end()
    await once(first, 'close')
    assert.equal(streams.begin({ raw: first }), false)
    assert.deepEqual([(await begin())[1], (await begin())[1]], [true, false])
    server.close().closeAllConnections()
  })

  const never = () => assert.fail('it was cut')

  for (const coding of CODINGS)
    it(`in ${coding} is cut when it fails, and does not end as if it were complete`, async () => {
      const { promise: cut, resolve } = Promise.withResolvers<void>()
      const failing = Readable.from(
        (async function* () {
          yield Buffer.alloc(100_000)
          throw new Error('the store fails')
        })(),
      )
      const compressed = await compress(failing, coding, resolve)
      assert.ok(compressed instanceof Readable)
      await cut
      assert.equal(compressed.readableEnded, false)
      assert.equal(compressed.resume().destroyed, false)
      compressed.destroy()
    })

  for (const coding of CODINGS)
    it(`in ${coding} is read no further when the client has gone`, async () => {
      const endless = new Readable({ read: () => endless.push(Buffer.alloc(1000)) })
      const compressed = await compress(endless, coding, never)
      assert.ok(compressed instanceof Readable)
      await once(compressed, 'readable')
      compressed.destroy()
      await once(endless, 'close')
    })

  for (const coding of CODINGS)
    it(`in ${coding} is read no faster than the client takes it`, async () => {
      let read = 0
      const random = new Readable({
        read() {
          read += 64 * 1024
          this.push(randomBytes(64 * 1024))
        },
      })
      const compressed = await compress(random, coding, never)
      assert.ok(compressed instanceof Readable)
      await once(compressed, 'readable')
      for (let before = -1; read !== before; await new Promise((resolve) => setTimeout(resolve, 50)))
        before = read
      assert.ok(read <= 10 * 64 * 1024, `${read} bytes were read`)
      compressed.destroy()
    })
})
