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
      assertFailure(await connection.answer(), 413, 'Request body too large')
      await connection.send(' '.repeat(limit + 1) + authorized('GET /book/1'))
      assert.equal((await connection.answer()).status, 200)
    })

    it(`${line}: when it is chunked, before it ends`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(authorized(line, 'Transfer-Encoding: chunked'))
      const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
      for (let sent = 0; sent <= limit; sent += 0x10000) await connection.send(chunk)
      assertFailure(await connection.answer(), 413, 'Request body too large')
      for (let sent = 0; sent <= 9 * MIB; sent += 0x10000) await connection.send(chunk)
      await connection.send(`0\r\n\r\n${authorized('GET /book/1')}`)
      assert.equal((await connection.answer()).status, 200)
    })

    it(`${line}: but not one of ${limit} bytes`, async () => {
      using connection = await RawConnection.open(service.url)
      await connection.send(authorized(line, `Content-Length: ${limit}`) + ' '.repeat(limit))
      assert.equal((await connection.answer()).status, 400)
    })
  }

  it('and cut without another answer when it does not end', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send(authorized('POST /book', 'Transfer-Encoding: chunked'))
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    for (let sent = 0; sent <= MIB; sent += 0x10000) await connection.send(chunk)
    assertFailure(await connection.answer(), 413, 'Request body too large')
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
      assertFailure(await connection.answer(), status, message)
    }
  })
})
