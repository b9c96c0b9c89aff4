import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection, type RawResponse } from '../../support/raw-socket.ts'
import { ACCOUNT } from '../../support/service.ts'
import { useService } from '../../support/use-service.ts'

const service = useService((started) => started.createBook(), { LOG_LEVEL: 'debug', TRUST_PROXY: 'true' })

async function send(line: string, fields: readonly string[] = [], body = ''): Promise<RawResponse> {
  using connection = await RawConnection.open(service.url)
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const bytes = head(line, `Authorization: ${service.token}`, ...length, ...fields)
  await connection.send(Buffer.concat([Buffer.from(bytes, 'latin1'), Buffer.from(body)]))
  return await connection.response()
}

describe('a hostile path is refused', () => {
  for (const [path, status, message] of [
    ['/book/1%00', 404, 'Book not found'],
    ['/%00', 404, 'Not found'],
    ['/%2e%2e/%2e%2e/etc/passwd', 404, 'Not found'],
    ['/book/%2e%2e/1', 404, 'Not found'],
    ['/book/..%2f1', 404, 'Book not found'],
    ['/docs/%2e%2e/%2e%2e/package.json', 404, 'Not found'],
    ['/docs/../../package.json', 404, 'Not found'],
    ['/docs/static/%2e%2e%2f%2e%2e%2fpackage.json', 404, 'Not found'],
    ['/docs/static/..%5c..%5cpackage.json', 404, 'Not found'],
    ['/book/%c0%b1', 404, 'Book not found'],
    ['/%c0%ae%c0%ae/books', 404, 'Not found'],
    ['/book/\xc0\xb1', 400, 'Bad request'],
    ['/book/1\\', 404, 'Book not found'],
    ['//book/1', 404, 'Not found'],
    ['/book//1', 404, 'Not found'],
    ['/book/1/', 404, 'Not found'],
    ['/books/', 404, 'Not found'],
    [`/book/${'1'.repeat(15_000)}`, 404, 'Book not found'],
    [`/${'x'.repeat(100_000)}`, 431, 'Request header fields too large'],
    [`/book/${'%31'.repeat(33_000)}`, 431, 'Request header fields too large'],
  ] as const) {
    const shown = path.length > 60 ? `${path.slice(0, 10)}… of ${path.length} bytes` : JSON.stringify(path)
    it(`${shown}: ${status}`, async () => assertFailure(await send(`GET ${path}`), status, message))
  }
})

describe('SQL is nothing but text', () => {
  const SQL = [
    "'; DROP TABLE books; --",
    '"; DROP TABLE books; --',
    "' OR '1'='1",
    "x', 'y', 1); DELETE FROM books; --",
    '1; ATTACH DATABASE "/tmp/x" AS x',
    "'||(SELECT sql FROM sqlite_master)||'",
    '%_\\',
    '?1 :a $1 @b',
    '/* */ -- #',
    '`books`',
  ]
  for (const text of SQL) {
    it(`${text} in each field is stored as it is`, async () => {
      const book = { title: text, author: text, year: 1 }
      const created = await send('POST /book', [], JSON.stringify(book))
      const { id } = JSON.parse(created.body).data
      assert.deepEqual(JSON.parse((await send(`GET /book/${id}`)).body).data, { id, ...book })
      const updated = await send(`PUT /book/${id}`, [], JSON.stringify({ author: `${text}${text}` }))
      assert.deepEqual(JSON.parse(updated.body).data, { id, ...book, author: `${text}${text}` })
      const login = { username: text, password: text }
      assertFailure(await send('POST /token', [], JSON.stringify(login)), 401, 'Invalid credentials')
    })

    it(`${text} as an id is no id`, async () => {
      for (const id of [encodeURIComponent(text), `1${encodeURIComponent(text)}`]) {
        for (const method of ['GET', 'DELETE', 'PUT']) {
          assertFailure(await send(`${method} /book/${id}`, [], '{}'), 404, 'Book not found')
        }
      }
      assertFailure(
        await send('POST /book', [], JSON.stringify({ title: 'T', author: 'A', year: text })),
        400,
        'Invalid input',
      )
    })
  }

  it('the table and its first book are still there', async () => {
    const { data } = JSON.parse((await send('GET /book/1')).body)
    assert.deepEqual(data, { id: 1, title: 'T', author: 'A', year: 1 })
    const list = JSON.parse((await send('GET /books')).body).data
    assert.equal(list.length, SQL.length + 1)
  })
})

describe('line breaks and terminal escapes get into no header and no line of the log', () => {
  const EVIL = ['\r\nX-Evil: 1', '\n{"level":60}', '\x1b[2J', '\x9b2J', '\x07', '\u2028', '\r']

  for (const evil of EVIL) {
    it(JSON.stringify(evil), async () => {
      const created = await send('POST /book', [], JSON.stringify({ title: evil, author: evil, year: 1 }))
      assert.equal(JSON.parse(created.body).data.title, evil)
      assert.equal(created.headers.has('x-evil'), false)
      await send('POST /token', [], JSON.stringify({ username: evil, password: evil }))
      const path = await send(`GET /${encodeURIComponent(evil)}`)
      assertFailure(path, 404, 'Not found')
      assert.equal(path.headers.has('x-evil'), false)
      const raw = await send('GET /nowhere', [`X-Request-Id: a${evil}`, `X-Forwarded-For: a${evil}`])
      assert.match(raw.headers.get('x-request-id') ?? 'none', /^(a|none|[\da-f-]{36})$/)
    })
  }

  it('the log is made of whole JSON lines, with no control character', async () => {
    const login = JSON.stringify({ ...ACCOUNT, password: 'x' })
    for (let i = 0; i < 101; i++) await send('POST /token', ['X-Forwarded-For: \x9b31m'], login)
    while (!service.output().includes('too many failed logins')) await setTimeout(10)
    await setTimeout(100)
    const log = service.output()
    assert.match(log, /u009b/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    assert.doesNotMatch(log, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
    for (const line of log.trimEnd().split('\n')) assert.ok(JSON.parse(line).level < 60, line)
    assert.doesNotMatch(log, /eyJ|DROP TABLE books; --"/)
  })
})
