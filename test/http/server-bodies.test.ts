import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const MIB = 1024 * 1024

const service = useService((started) => started.createBook())

const authorized = (line: string, ...fields: string[]) =>
  head(line, `Authorization: ${service.token}`, ...fields)

describe('a body over its limit is answered with 413, dropped, and the connection kept', () => {
  for (const [line, limit] of [
    ['POST /token', 4096],
    ['POST /book', MIB],
    ['PUT /book/1', MIB],
  ] as const) {
    it(`${line}: when Content-Length says so, before it is sent`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(authorized(line, `Content-Length: ${limit + 1}`))
      assertFailure(await connection.response(), 413, 'Request body too large')
      await connection.send(' '.repeat(limit + 1) + authorized('GET /book/1'))
      assert.equal((await connection.response()).status, 200)
    })

    it(`${line}: when it is chunked, before it ends`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(authorized(line, 'Transfer-Encoding: chunked'))
      const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
      for (let sent = 0; sent <= limit; sent += 0x10000) await connection.send(chunk)
      assertFailure(await connection.response(), 413, 'Request body too large')
      for (let sent = 0; sent <= 9 * MIB; sent += 0x10000) await connection.send(chunk)
      await connection.send(`0\r\n\r\n${authorized('GET /book/1')}`)
      assert.equal((await connection.response()).status, 200)
    })

    it(`${line}: but not one of ${limit} bytes`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(authorized(line, `Content-Length: ${limit}`) + ' '.repeat(limit))
      assert.equal((await connection.response()).status, 400)
    })
  }

  it('and cut without another response when it does not end', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(authorized('POST /book', 'Transfer-Encoding: chunked'))
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    for (let sent = 0; sent <= MIB; sent += 0x10000) await connection.send(chunk)
    assertFailure(await connection.response(), 413, 'Request body too large')
    let ended = false
    const rest = connection.rest().finally(() => {
      ended = true
    })
    while (!ended) {
      await connection.send(chunk)
      await setTimeout(10)
    }
    assert.equal(await rest, '')
  })

  it('is looked at after the token and the existence of the book (§4 rule 3)', async () => {
    const length = `Content-Length: ${MIB + 1}`
    for (const [request, status, message] of [
      [head('PUT /book/1', length), 401, 'Authorization token required'],
      [head('PUT /book/1', 'Authorization: x', length), 401, 'Invalid token'],
      [authorized('PUT /book/999', length), 404, 'Book not found'],
      [head('POST /book', 'Authorization: x', length), 401, 'Invalid token'],
    ] as const) {
      using connection = await RawConnection.open(service.url)
      await connection.send(request)
      assertFailure(await connection.response(), status, message)
    }
  })
})

describe('a client that asks for the end of the connection', () => {
  const csv = 'Content-Type: text/csv'
  const rows = 'T,A,1\n'.repeat(MIB)

  for (const [what, status, fields, start] of [
    ['a bad header', 400, () => [`Authorization: ${service.token}`, csv], 'name\n'],
    [
      'a bad second line',
      400,
      () => [`Authorization: ${service.token}`, csv],
      `title,author,year\n"${'x'.repeat(3 * MIB)}`,
    ],
    ['no token', 401, () => [csv], ''],
    [
      'a Content-Length over the limit',
      413,
      () => [`Authorization: ${service.token}`, csv, `Content-Length: ${MIB ** 3}`],
      '',
    ],
    ['a wrong type', 415, () => [`Authorization: ${service.token}`], ''],
  ] as const) {
    it(`and sends all of its file before it reads gets the response, not a reset: ${what}`, async () => {
      using connection = await RawConnection.open(service.url)
      connection.stopReading()
      const body = start + rows
      const length = status === 413 ? [] : [`Content-Length: ${body.length}`]
      await connection.send(head('POST /books/import', 'Connection: close', ...fields(), ...length))
      // What is refused for its head has been answered by now.
      await setTimeout(100)
      await connection.send(body)
      assert.equal(connection.wasCut, false)
      const response = await connection.response()
      assert.equal(response.status, status)
      assert.equal(response.headers.get('connection'), 'close')
      assert.equal(await connection.rest(), '')
    })
  }

  it('but does not end its body is cut, however it sends', async () => {
    for (const chunk of ['1\r\n \r\n', `10000\r\n${' '.repeat(0x10000)}\r\n`]) {
      using connection = await RawConnection.open(service.url)
      connection.stopReading()
      const begin = performance.now()
      await connection.send(head('POST /books/import', 'Connection: close', 'Transfer-Encoding: chunked'))
      while (!connection.wasCut) {
        await connection.send(chunk)
        await setTimeout(10)
      }
      const time = performance.now() - begin
      assert.ok(time > 1500, `${time} ms`)
    }
  })
})
