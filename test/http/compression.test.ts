import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { pageOf } from '../../src/catalogue/page.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { CompressedStreams, compress } from '../../src/http/compression.ts'
import { serve, useServer } from './serve.ts'

const DECODERS = { gzip: gunzipSync, zstd: zstdDecompressSync }

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

  for (const path of ['/books', '/books?limit=100&count=true'])
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
    ['/books?limit=100', 'br'],
    ['/books?limit=100', 'zstd;q=0.5, identity'],
    ['/books?limit=1', 'gzip'],
  ] as const)
    it(`${path} is not compressed with Accept-Encoding: ${coding}`, async () => {
      const { headers, body } = await get(path, { 'accept-encoding': coding })
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(JSON.parse(body.toString()).status, 200)
    })

  it('HEAD has the header fields of GET', async () => {
    const path = '/books?limit=100&count=true'
    const { headers } = await get(path, { 'accept-encoding': 'gzip' })
    const head = await get(path, { 'accept-encoding': 'gzip' }, 'HEAD')
    for (const name of ['content-encoding', 'content-length', 'vary', 'link', 'x-total-count'])
      assert.equal(head.headers[name], headers[name])
    // A whole list is compressed only if it is long, and HEAD reads none.
    const { headers: whole } = await get('/books', { 'accept-encoding': 'gzip' }, 'HEAD')
    assert.equal(whole['content-encoding'], undefined)
  })
})

it('two streams are compressed at a time: others are not, until one of them has ended', () => {
  const streams = new CompressedStreams()
  const responses = [1, 2, 3, 4].map(() => Object.assign(new EventEmitter(), { closed: false }))
  const begin = (i: number) => streams.begin({ raw: responses[i] as unknown as ServerResponse })
  assert.deepEqual([begin(0), begin(1), begin(2)], [true, true, false])
  Object.assign(responses[0] ?? {}, { closed: true })
  responses[0]?.emit('close')
  assert.deepEqual([begin(0), begin(2), begin(3)], [false, true, false])
})

it('lists that are not compressed, and pages, take no turn of lists that are', async (t) => {
  const [last, bothPages] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let lists = 0
  const page: Store['page'] = async (_query, after) => {
    if (after === undefined && ++lists === 2) bothPages.resolve()
    if (lists === 5) last.resolve()
    if (after !== undefined || lists <= 2) await last.promise
    return pageOf([{ id: 1, title: 'x'.repeat(100_000), author: 'A', year: 1 }], {
      last: [1],
      more: after === undefined,
    })
  }
  const { url, authorization } = await serve(t, { replaced: () => ({ page }) })
  const get = async (coding: string, query = '') => {
    const headers = { authorization, 'accept-encoding': coding }
    return (await fetch(`${url}/books${query}`, { headers })).headers.get('content-encoding')
  }
  const pages = [1, 2].map(() => get('gzip', '?limit=1'))
  await bothPages.promise
  const codings = [await get('identity'), await get('identity'), await get('gzip')]
  assert.deepEqual(codings, [null, null, 'gzip'])
  assert.deepEqual(await Promise.all(pages), ['gzip', 'gzip'])
})

// That it is cut when it fails: test/http/error-handler.test.ts.
for (const coding of ['gzip', 'zstd'] as const)
  it(`a stream that is compressed in ${coding} is read no further when the client has gone`, async () => {
    const endless = new Readable({ read: () => endless.push(Buffer.alloc(1000)) })
    const stream = (await compress(endless, coding, () => assert.fail('it was cut'))) as Readable
    await once(stream, 'readable')
    stream.destroy()
    await once(endless, 'close')
  })
