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
  for (const [name, body, ...fields] of [
    ['arrays 200,000 deep', '['.repeat(200_000) + ']'.repeat(200_000)],
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

it('16,384 brackets, braces and commas are allowed, also within each other, and more within texts', async () => {
  const withCommas = (count: number) => `{"more":[${'1,'.repeat(count - 3)}1],"year":1}`
  assert.equal((await send('PUT /book/1', withCommas(16_384))).status, 200)
  assert.equal((await send('PUT /book/1', withCommas(16_385))).status, 400)
  const deep = `{"more":${'['.repeat(16_000)}${']'.repeat(16_000)}}`
  assert.equal((await send('PUT /book/1', deep)).status, 200)
  for (const title of ['['.repeat(50_000), '\\",{'.repeat(50_000), '\\\\'.repeat(50_000)]) {
    const updated = await send('PUT /book/1', `{"title":"${title}"}`)
    assert.equal(JSON.parse(updated.body).data?.title, JSON.parse(`"${title}"`))
  }
})

// The limits: test/spec/decisions-http.test.ts.
it('a body over its limit is dropped, and the connection kept: when Content-Length says so, before it is sent; when it is chunked, before it ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  using connection = await RawConnection.open(server.url)
  const refused = async () => assertFailure(await connection.response(), 413, 'Request body too large')
  await connection.send(authorized('PUT /book/1', `Content-Length: ${MIB + 1}`))
  await refused()
  // Half of its time.
  t.mock.timers.tick(1000)
  await connection.send(' '.repeat(MIB + 1))
  const chunk = `400\r\n${' '.repeat(1024)}\r\n`
  await connection.send(authorized('PUT /book/1', 'Transfer-Encoding: chunked') + chunk.repeat(1025))
  await refused()
  await connection.send(`${chunk.repeat(100)}0\r\n\r\n${authorized('GET /book/1')}`)
  assert.equal((await connection.response()).status, 200)
  // A client that has sent the rest in time is not cut later.
  for (let half = 0; half < 2; half++) t.mock.timers.tick(5000)
  await connection.send(authorized('GET /book/1'))
  assert.equal((await connection.response()).status, 200)
})

it('a body over its limit is refused after the token and the existence of the book were checked (§4 rule 3)', async () => {
  const length = `Content-Length: ${MIB + 1}`
  assertFailure(await server.ask(head('PUT /book/1', length)), 401, 'Authorization token required')
  assertFailure(await server.ask(authorized('PUT /book/999', length)), 404, 'Book not found')
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
