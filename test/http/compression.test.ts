import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { describe, it } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { CompressedStreams, compress } from '../../src/http/compression.ts'
import { useServer } from './serve.ts'

const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync }
const CODINGS = ['gzip', 'zstd'] as const

/** So many that the list of all is a stream. */
const BOOKS = 3000

describe('decision: lists are compressed for clients that prefer it', () => {
  const server = useServer({}, async ({ store }) => {
    const books = Array.from({ length: BOOKS }, (_, year) => ({ title: `Volume ${year}`, author: 'Ä', year }))
    await Promise.all(books.map((book) => store.create(book)))
  })

  /** Without the Accept-Encoding that fetch adds, and without its decoding. */
  async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const options = { method, headers: { authorization: server.authorization, ...headers } }
    const [response] = (await once(request(server.url + path, options).end(), 'response')) as [
      IncomingMessage,
    ]
    return { headers: response.headers, body: Buffer.concat(await response.toArray()) }
  }

  for (const path of ['/books', '/books?sort=-year', '/books?limit=100&count=true'])
    for (const [accept, coding] of [
      ['application/json', 'gzip'],
      ['text/csv', 'zstd'],
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

  for (const [path, coding] of [
    ['/books?limit=100', 'gzip;q=0'],
    ['/books?limit=100', 'identity'],
    ['/books?limit=100', 'br'],
    ['/books?limit=100', '*;q=0'],
    ['/books?limit=100', 'zstd;q=0.5, identity'],
    ['/books?limit=1', 'gzip'],
    ['/book/1', 'gzip'],
    ['/books/statistics', 'gzip'],
    ['/books?limit=0', 'gzip'],
  ] as const)
    it(`${path} is not compressed with Accept-Encoding: ${coding}`, async () => {
      const { headers, body } = await get(path, { 'accept-encoding': coding })
      assert.equal(headers['content-encoding'], undefined)
      assert.ok(JSON.parse(body.toString()).status)
    })

  it('a list of 1 KiB is compressed, and one that is shorter is not', async () => {
    const withLength = async (length: number) => {
      const author = `of ${length}`
      const path = `/books?limit=1&author=${encodeURIComponent(author)}`
      const { id } = await server.store.create({ title: '', author, year: 1 })
      const { body } = await get(path)
      await server.store.update(id, { title: 'x'.repeat(length - body.length) })
      return (await get(path, { 'accept-encoding': 'gzip' })).headers['content-encoding']
    }
    assert.deepEqual([await withLength(1023), await withLength(1024)], [undefined, 'gzip'])
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

it('two streams are compressed at a time: others are not, until one of them has ended', async (t) => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close().closeAllConnections())
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
})

for (const coding of CODINGS)
  describe(`a stream that is compressed in ${coding}`, () => {
    async function compressed(content: Readable, cut: () => void = () => assert.fail('it was cut')) {
      const stream = await compress(content, coding, cut)
      assert.ok(stream instanceof Readable)
      return stream
    }

    // Without this, the half of a list would end only when its connection has been idle for long.
    it('is cut when it fails, and does not end as if it were complete', async () => {
      const cut = Promise.withResolvers<void>()
      const content = new Readable({ read: () => {} })
      const stream = await compressed(content, cut.resolve)
      content.push(Buffer.alloc(100_000))
      content.destroy(new Error('the store fails'))
      await cut.promise
      assert.deepEqual([stream.readableEnded, stream.resume().destroyed], [false, false])
      stream.destroy()
    })

    it('is read no further when the client has gone', async () => {
      const endless = new Readable({ read: () => endless.push(Buffer.alloc(1000)) })
      const stream = await compressed(endless)
      await once(stream, 'readable')
      stream.destroy()
      await once(endless, 'close')
    })

    it('is read no faster than the client takes it', async () => {
      let read = 0
      const random = new Readable({
        read() {
          read += 64 * 1024
          this.push(randomBytes(64 * 1024))
        },
      })
      const stream = await compressed(random)
      await once(stream, 'readable')
      assert.ok(stream instanceof Transform)
      while (!stream.writableNeedDrain) await new Promise(setImmediate)
      assert.ok(read <= 10 * 64 * 1024, `${read} bytes were read`)
      stream.destroy()
    })
  })
