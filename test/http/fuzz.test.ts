import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import fc from 'fast-check'
import { ACCOUNT } from '../support/service.ts'
import { useServer } from './serve.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? 500)

const server = useServer()

const printable = (replacement: string) =>
  fc.string({ unit: 'binary-ascii' }).map((text) => text.replace(/[^\x21-\x7e]|#/g, replacement))

/** A query string of the list, of names and values that are good, or only look so. */
const value = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }).map(encodeURIComponent),
  printable('%'),
  fc.integer().map(String),
)
const name = fc.constantFrom('limit', 'after', 'count', 'sort', 'q', 'title', 'year', 'year_min', 'x')
const pair = fc.tuple(name, value).map((parts) => parts.join('='))
const query = fc.array(pair, { maxLength: 4 }).map((pairs) => `/books?${pairs.join('&')}`)

const segment = fc.oneof(fc.constantFrom('book', '', '..', '%2e%2e', '%00', '__proto__'), printable('%'))
const segments = fc.array(segment, { maxLength: 4 }).map((all) => `/${all.join('/')}`)
const path = fc.oneof(fc.constantFrom('/token', '/book', '/books', '/book/1', '/book/0'), segments, query)

const any = fc.jsonValue()
const book = fc.record({ title: any, author: any, year: any }, { requiredKeys: [] })
const json = fc
  .oneof(any, book, fc.record({ username: any, password: any }), fc.constant({ ...ACCOUNT }))
  .map((each) => JSON.stringify(each))
const body = fc.oneof(
  json.map((text) => Buffer.from(text)),
  json.map((text) => Buffer.from(text.slice(0, -1))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
)

const requests = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS', 'PROPFIND', 'TRACE'),
  // Without the documents that are not in the envelope.
  path: path.filter((path) => !/^\/(?:$|\?|docs|openapi\.json)/.test(path)),
  token: fc.oneof({ weight: 3, arbitrary: fc.constant('valid') }, printable('.'), fc.constant(undefined)),
  type: fc.oneof(fc.constantFrom(undefined, 'application/json', 'text/plain', ';'), printable('.')),
  body,
})

it(`whatever is sent is answered in the envelope, its status that of HTTP, and never with a 5xx (${RUNS} runs)`, async () => {
  await fc.assert(
    fc.asyncProperty(requests, async ({ method, path, token, type, body }) => {
      const headers = {
        'content-length': body.length,
        ...(token !== undefined && { authorization: token === 'valid' ? server.authorization : token }),
        ...(type !== undefined && { 'content-type': type }),
      }
      const sent = request(server.url, { method, path, headers }).end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const { statusCode: status = 0 } = response
      const received = await text(response)
      assert.ok(status < 500, `status ${status}`)
      if (method === 'HEAD') return
      const envelope = JSON.parse(received)
      assert.deepEqual(Object.keys(envelope), ['status', 'message', 'data'])
      assert.deepEqual([envelope.status, typeof envelope.message], [status, 'string'])
      if (status >= 400) assert.equal(envelope.data, null)
    }),
    { numRuns: RUNS },
  )
})
