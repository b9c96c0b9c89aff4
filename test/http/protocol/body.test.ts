import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertFailure, head, RawConnection } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'
import { useServer } from '../serve.ts'

const MIB = 1024 * 1024
const BOOK = '{"title":"T","author":"A","year":1}'

const server = useServer({}, ({ store }) => store.create(JSON.parse(BOOK)))

const authorized = (line: string, ...fields: string[]) => server.authorized(line, ...fields)

const send = (line: string, body: string | Buffer, ...fields: string[]) =>
  server.ask(authorized(line, `Content-Length: ${Buffer.byteLength(body)}`, ...fields), body)

describe('a hostile body is refused, whatever the endpoint', () => {
  const nested = '['.repeat(200_000) + ']'.repeat(200_000)
  const objects = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
  const many = (value: string) =>
    `{"title":"T","author":"A","year":1,"more":[${`${value},`.repeat(20_000)}1]}`

  for (const [name, body, ...fields] of [
    ['arrays 200,000 deep', nested],
    ['arrays 200,000 deep that do not end', nested.slice(0, 200_000)],
    ['fields 50,000 objects deep', `{"title":${objects},"username":${objects}}`],
    ['20,000 arrays', many('[]')],
    ['20,000 objects', many('{}')],
    ['20,000 texts', many('"a"')],
    ['UTF-16', Buffer.from(`\ufeff${BOOK}`, 'utf16le')],
    ['a byte order mark', `\ufeff${BOOK}`],
    ['gzip', gzipSync(BOOK), 'Content-Encoding: gzip'],
  ] as const)
    it(name, async () => {
      assertFailure(await send('POST /book', body, ...fields), 400, 'Invalid input')
      assertFailure(await send('PUT /book/1', body, ...fields), 400, 'Invalid input')
      assertFailure(await send('PUT /book/999', body, ...fields), 404, 'Book not found')
      const login = await send('POST /token', body, ...fields)
      if (body.length > 4096) assertFailure(login, 413, 'Request body too large')
      else assertFailure(login, 400, 'Invalid request payload')
    })
})

it('16,384 brackets, braces and commas are allowed, and more within texts', async () => {
  const withCommas = (count: number) => `{"more":[${'1,'.repeat(count - 3)}1],"year":1}`
  assert.equal((await send('PUT /book/1', withCommas(16_384))).status, 200)
  assert.equal((await send('PUT /book/1', withCommas(16_385))).status, 400)
  for (const title of ['['.repeat(50_000), '\\",{'.repeat(50_000), '\\\\'.repeat(50_000)]) {
    const updated = await send('PUT /book/1', `{"title":"${title}"}`)
    assert.equal(JSON.parse(updated.body).data?.title, JSON.parse(`"${title}"`))
  }
})

it('of a key that is there twice the last one wins', async () => {
  const updated = await send('PUT /book/1', '{"title":1,"title":"first","title":"last"}')
  assert.equal(JSON.parse(updated.body).data.title, 'last')
  assertFailure(await send('PUT /book/1', '{"year":1,"year":"x"}'), 400, 'Invalid input')
})

it('the names of a query that mean something to JavaScript do nothing', async () => {
  const query = '?__proto__[polluted]=1&constructor.prototype.polluted=1'
  assert.equal((await send(`GET /book/1${query}`, '')).status, 200)
})

describe('a body over its limit is answered with 413, dropped, and the connection kept', () => {
  for (const [line, limit] of [
    ['POST /token', 4096],
    ['POST /book', MIB],
    ['PUT /book/1', MIB],
  ] as const) {
    it(`${line}: when Content-Length says so, before it is sent`, async () => {
      using connection = await RawConnection.open(server.url)
      await connection.send(authorized(line, `Content-Length: ${limit + 1}`))
      assertFailure(await connection.response(), 413, 'Request body too large')
      await connection.send(' '.repeat(limit + 1) + authorized('GET /book/1'))
      assert.equal((await connection.response()).status, 200)
    })

    it(`${line}: when it is chunked, before it ends`, async () => {
      const size = limit === 4096 ? 1 : 0x10000
      const chunk = `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`
      using connection = await RawConnection.open(server.url)
      await connection.send(authorized(line, 'Transfer-Encoding: chunked') + chunk.repeat(limit / size + 1))
      assertFailure(await connection.response(), 413, 'Request body too large')
      await connection.send(`${chunk.repeat(100)}0\r\n\r\n${authorized('GET /book/1')}`)
      assert.equal((await connection.response()).status, 200)
    })
  }

  for (const [request, status, message] of [
    [() => head('PUT /book/1', `Content-Length: ${MIB + 1}`), 401, 'Authorization token required'],
    [() => head('POST /book', 'Authorization: x', `Content-Length: ${MIB + 1}`), 401, 'Invalid token'],
    [() => authorized('PUT /book/999', `Content-Length: ${MIB + 1}`), 404, 'Book not found'],
  ] as const)
    it(`is looked at after the token and the existence of the book (§4 rule 3): ${message}`, async () =>
      assertFailure(await server.ask(request()), status, message))
})

describe('bodies in chunks of a byte', () => {
  const service = useService((started) => started.createBook())

  it('take no more memory than others', async () => {
    const before = service.memory('VmHWM')
    for (const [line, size, status] of [
      ['POST /token', 4094, 401],
      ['PUT /book/1', MIB / 2, 200],
    ] as const) {
      using connection = await RawConnection.open(service.url)
      await connection.send(head(line, `Authorization: ${service.token}`, 'Transfer-Encoding: chunked'))
      await connection.send(`${'1\r\n \r\n'.repeat(size)}2\r\n{}\r\n0\r\n\r\n`)
      assert.equal((await connection.response()).status, status)
    }
    const rise = (service.memory('VmHWM') - before) / MIB
    assert.ok(rise < 128, `the memory rose by ${Math.round(rise)} MiB`)
  })
})
