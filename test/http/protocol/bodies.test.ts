import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { assertFailure, head, RawConnection, type RawResponse } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const MIB = 1024 * 1024

/** What the memory of the service may rise by under all this, in bytes. */
const RISE = 128 * MIB

const service = useService((started) => started.createBook())

const BOOK = '{"title":"T","author":"A","year":1}'
const FIELD = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
const NESTED = '['.repeat(200_000) + ']'.repeat(200_000)
const OBJECTS = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`

async function send(line: string, body: string | Buffer, ...fields: string[]): Promise<RawResponse> {
  using connection = await RawConnection.open(service.url)
  const bytes = Buffer.from(body)
  const authorization = `Authorization: ${service.token}`
  await connection.send(head(line, authorization, `Content-Length: ${bytes.length}`, ...fields))
  await connection.send(bytes)
  return await connection.response()
}

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

/** Bodies that are refused wherever a body is read. */
const REFUSED: Record<string, string | Buffer> = {
  'arrays 200,000 deep': NESTED,
  'arrays 200,000 deep that do not end': NESTED.slice(0, 200_000),
  'objects 100,000 deep that do not end': OBJECTS.slice(0, -1),
  'fields 50,000 objects deep': `{"title":${FIELD},"username":${FIELD}}`,
  'invalid UTF-8': bytes('{"title":"', [0xc3, 0x28], '"}'),
  'overlong UTF-8': bytes('{"title":"', [0xc0, 0xaf], '"}'),
  'a surrogate in UTF-8': bytes('{"title":"', [0xed, 0xa0, 0x80], '"}'),
  'UTF-16, little-endian': Buffer.from(BOOK, 'utf16le'),
  'UTF-16, with a byte order mark': Buffer.from(`\ufeff${BOOK}`, 'utf16le'),
  'a byte order mark': `\ufeff${BOOK}`,
  gzip: gzipSync(BOOK),
  NUL: '\0'.repeat(1000),
  'a million digits': '9'.repeat(1_000_000),
  'a million quotes': '"'.repeat(1_000_000),
}

describe('a hostile body is refused, whatever the endpoint', () => {
  for (const [name, body] of Object.entries(REFUSED)) {
    it(name, async () => {
      assertFailure(await send('POST /book', body), 400, 'Invalid input')
      assertFailure(await send('PUT /book/1', body), 400, 'Invalid input')
      assertFailure(await send('PUT /book/999', body), 404, 'Book not found')
      const login = await send('POST /token', body)
      if (body.length > 4096) assertFailure(login, 413, 'Request body too large')
      else assertFailure(login, 400, 'Invalid request payload')
    })
  }

  it('gzip, also when it says so', async () => {
    const response = await send('POST /book', gzipSync(BOOK), 'Content-Encoding: gzip')
    assertFailure(response, 400, 'Invalid input')
  })

  it('one of many small values, whatever they are', async () => {
    for (const value of ['[]', '{}', '1', '"a"']) {
      const many = `{"title":"T","author":"A","year":1,"more":[${`${value},`.repeat(20_000)}1]}`
      assertFailure(await send('POST /book', many), 400, 'Invalid input')
      assertFailure(await send('PUT /book/1', many), 400, 'Invalid input')
    }
    // In a text they are no values.
    for (const title of ['['.repeat(50_000), '\\",'.repeat(50_000), '\\\\'.repeat(50_000)]) {
      const created = await send('POST /book', `{"title":"${title}","author":"A","year":1}`)
      assert.equal(created.status, 201)
      assert.equal(JSON.parse(created.body).data.title, JSON.parse(`"${title}"`))
    }
  })

  it('one of 1 MiB and a byte', async () => {
    for (const line of ['POST /book', 'PUT /book/1', 'POST /token']) {
      assertFailure(await send(line, BOOK.padEnd(MIB + 1)), 413, 'Request body too large')
    }
  })
})

describe('keys that mean something to JavaScript pollute nothing', () => {
  for (const key of [
    '__proto__',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'toString',
    'valueOf',
    'then',
  ]) {
    it(key, async () => {
      const evil = `{"title":"polluted","author":"polluted","year":666,"polluted":true,"toJSON":1}`
      for (const value of [evil, `{"prototype":${evil}}`, `{"__proto__":${evil}}`, 'null', '1']) {
        const created = await send('POST /book', `{"${key}":${value},${BOOK.slice(1)}`)
        assert.equal(created.status, 201)
        assert.deepEqual(Object.keys(JSON.parse(created.body).data), ['id', 'title', 'author', 'year'])
        assertFailure(await send('POST /book', `{"${key}":${value}}`), 400, 'Invalid input')
        assertFailure(await send('POST /token', `{"${key}":${value}}`), 401, 'Invalid credentials')
        const updated = await send('PUT /book/1', `{"${key}":${value}}`)
        assert.deepEqual(JSON.parse(updated.body).data, { id: 1, ...JSON.parse(BOOK) })
      }
    })
  }

  it('nor do the names of a query', async () => {
    const response = await send('GET /book/1?__proto__[polluted]=1&constructor.prototype.polluted=1', '')
    assert.deepEqual(JSON.parse(response.body).data, { id: 1, ...JSON.parse(BOOK) })
  })
})

it('of a key that is there twice the last one wins', async () => {
  const created = await send('POST /book', '{"title":1,"title":"first","title":"last","author":"A","year":1}')
  assert.equal(JSON.parse(created.body).data.title, 'last')
  assertFailure(
    await send('POST /book', `{"title":"first",${BOOK.slice(1, -1)},"year":"x"}`),
    400,
    'Invalid input',
  )
})

it('hundreds of them leave the memory flat, and the service well', async () => {
  const before = service.memory('VmRSS')
  for (let round = 0; round < 20; round++) {
    await Promise.all(Object.values(REFUSED).map((body) => send('POST /book', body)))
  }
  const rise = service.memory('VmHWM') - before
  assert.ok(rise < RISE, `the memory rose by ${Math.round(rise / MIB)} MiB`)
  const read = await send('GET /book/1', '')
  assert.deepEqual(JSON.parse(read.body).data, { id: 1, ...JSON.parse(BOOK) })
  assert.doesNotMatch(service.output(), /"level":[456]0/)
})

describe('chunks of a byte', () => {
  const flooded = useService((started) => started.createBook())
  // The flooded one may refuse requests for a while, because its event loop was late.
  const steady = useService((started) => started.createBook())

  it('a chunked one without end, of small chunks: 413, then cut', async () => {
    using connection = await RawConnection.open(flooded.url)
    await connection.send(head('POST /book', `Authorization: ${flooded.token}`, 'Transfer-Encoding: chunked'))
    let isAnswered = false
    let ended = false
    const response = connection.response().finally(() => {
      isAnswered = true
    })
    const rest = response
      .then(() => connection.rest())
      .finally(() => {
        ended = true
      })
    const chunk = '1\r\n \r\n'
    while (!ended) {
      await Promise.race([connection.send(isAnswered ? chunk : chunk.repeat(64 * 1024)), rest])
      await setTimeout(10)
    }
    assertFailure(await response, 413, 'Request body too large')
    assert.equal(await rest, '')
  })

  it('bodies in chunks of a byte take no more memory than others', async () => {
    const before = steady.memory('VmHWM')
    for (const [line, size] of [
      ['POST /token', 4094],
      ['PUT /book/1', MIB / 2],
    ] as const) {
      const body = '1\r\n \r\n'.repeat(size)
      using connection = await RawConnection.open(steady.url)
      await connection.send(head(line, `Authorization: ${steady.token}`, 'Transfer-Encoding: chunked'))
      await connection.send(`${body}2\r\n{}\r\n0\r\n\r\n`)
      assert.equal(
        (await connection.response()).status,
        { 'POST /token': 401, 'PUT /book/1': 200 }[line] ?? 400,
      )
    }
    const rise = steady.memory('VmHWM') - before
    assert.ok(rise < RISE, `the memory rose by ${Math.round(rise / MIB)} MiB`)
  })
})
