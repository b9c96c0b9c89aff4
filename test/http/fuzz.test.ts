import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? 1000)

interface Attack {
  method: string
  path: string
  token: string | undefined
  contentType: string | undefined
  body: Buffer
}

describe('whatever is sent to whatever endpoint', () => {
  const service = useService()

  it(`is answered in the envelope, its status that of HTTP, and never with a 5xx (${RUNS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(attacks(), async (attack) => {
        const { status, text } = await send(attack)
        assert.ok(status < 500, `status ${status}`)
        if (attack.method === 'HEAD') return
        const envelope = JSON.parse(text)
        assert.deepEqual(Object.keys(envelope), ['status', 'message', 'data'])
        assert.equal(envelope.status, status)
        assert.equal(typeof envelope.message, 'string')
        if (status >= 400) assert.equal(envelope.data, null)
      }),
      { numRuns: RUNS },
    )
  })

  it('leaves the service alive, and every book that it took as it was sent', async () => {
    await fc.assert(
      fc.asyncProperty(books(), async (book) => {
        const body = Buffer.from(JSON.stringify(book))
        const created = await send({
          method: 'POST',
          path: '/book',
          token: service.token,
          contentType: undefined,
          body,
        })
        assert.equal(created.status, 201)
        const { id } = JSON.parse(created.text).data
        const read = await send({
          method: 'GET',
          path: `/book/${id}`,
          token: service.token,
          contentType: undefined,
          body: Buffer.alloc(0),
        })
        assert.deepEqual(JSON.parse(read.text).data, { id, ...book })
      }),
      { numRuns: RUNS / 4 },
    )
  })

  function attacks(): fc.Arbitrary<Attack> {
    const segment = fc.oneof(
      fc.constantFrom('book', 'books', 'token', '', '.', '..', '%2e%2e', '%00', '%', '__proto__'),
      fc.string({ unit: 'binary-ascii' }).map((text) => text.replace(/[^\x21-\x7e]/g, '%')),
      fc.integer().map(String),
    )
    const known = fc.constantFrom('/token', '/book', '/books', '/book/1', '/book/2', '/book/0')
    // The documents that are not in the envelope.
    const path = fc
      .oneof(
        { weight: 3, arbitrary: known },
        fc.array(segment, { maxLength: 4 }).map((all) => `/${all.join('/')}`),
      )
      .filter((path) => !/^\/(?:$|\?|docs|openapi\.json)/.test(path))
    const json = fc.oneof(
      fc.jsonValue(),
      fc.record(
        { title: fc.jsonValue(), author: fc.jsonValue(), year: fc.jsonValue() },
        { requiredKeys: [] },
      ),
      fc.record({ username: fc.jsonValue(), password: fc.jsonValue() }, { requiredKeys: [] }),
      fc.constant({ ...ACCOUNT }),
      books(),
    )
    const body = fc.oneof(
      json.map((value) => Buffer.from(JSON.stringify(value))),
      json.map((value) => Buffer.from(JSON.stringify(value).slice(0, -1))),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(Buffer.alloc(0)),
    )
    const header = fc.string({ unit: 'binary-ascii' }).map((text) => text.replace(/[^\x20-\x7e]/g, '.'))
    return fc.record({
      method: fc.constantFrom(
        'GET',
        'POST',
        'PUT',
        'DELETE',
        'HEAD',
        'PATCH',
        'OPTIONS',
        'PROPFIND',
        'TRACE',
      ),
      path: fc
        .oneof(
          { weight: 3, arbitrary: fc.tuple(path, fc.constantFrom('', '?', '?limit=1', '?%')) },
          fc.tuple(fc.constant('/books?'), queries()),
        )
        .map((parts) => parts.join('')),
      token: fc.oneof({ weight: 3, arbitrary: fc.constant('valid') }, header, fc.constant(undefined)),
      contentType: fc.oneof(fc.constantFrom(undefined, 'application/json', 'text/plain', ';'), header),
      body,
    })
  }

  /** Query strings of the list, of names and values that are good, or only look so. */
  function queries(): fc.Arbitrary<string> {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map(encodeURIComponent)
    const raw = fc.string({ unit: 'binary-ascii' }).map((value) => value.replace(/[^\x21-\x7e]|#/g, '%'))
    const fields = fc.array(fc.constantFrom('id', 'title', '-author', 'year', '-year', 'isbn', ''), {
      maxLength: 4,
    })
    const value = fc.oneof(
      text,
      raw,
      fc.integer().map(String),
      fields.map((all) => all.join()),
    )
    const names = [
      'limit',
      'after',
      'count',
      'sort',
      'q',
      'title',
      'author',
      'year',
      'year_min',
      'year_max',
      'x',
    ]
    const pair = fc.tuple(fc.constantFrom(...names), value).map((parts) => parts.join('='))
    return fc.array(pair, { maxLength: 4 }).map((pairs) => pairs.join('&'))
  }

  function books() {
    const text = fc.string({ unit: 'grapheme-composite' }).filter((value) => !value.includes('\0'))
    return fc.record({ title: text, author: text, year: fc.maxSafeInteger() })
  }

  function send(attack: Attack): Promise<{ status: number; text: string }> {
    const headers: Record<string, string | number> = { 'content-length': attack.body.length }
    if (attack.token !== undefined)
      headers.authorization = attack.token === 'valid' ? service.token : attack.token
    if (attack.contentType !== undefined) headers['content-type'] = attack.contentType
    return new Promise((resolve, reject) => {
      const { method, path } = attack
      const sent = request(service.url, { method, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(attack.body)
    })
  }
})
