import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Auth } from '../../../src/auth/auth.ts'
import { pageOf } from '../../../src/catalogue/page.ts'
import type { BookQuery, Position } from '../../../src/catalogue/query.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import { assertFailure, head, RawConnection } from '../../support/raw-socket.ts'
import { ACCOUNT, SECRET } from '../../support/service.ts'
import { createTestServer } from '../../support/test-server.ts'

/** Until the service has read what was sent, in milliseconds. */
const A_MOMENT = 200

const GARBAGE = 'what is this?\r\n\r\n'
const BAD_REQUEST = [400, 'Bad request'] as const

/** What makes the parser give up, at each of the places where it can, and the response to it. */
const FATAL: Record<string, { bytes: string; refusal: readonly [status: number, message: string] }> = {
  garbage: { bytes: GARBAGE, refusal: BAD_REQUEST },
  'a bad chunk': {
    bytes: `${head('POST /token', 'Transfer-Encoding: chunked')}zz\r\n`,
    refusal: BAD_REQUEST,
  },
  'a header block over 16 KiB': {
    bytes: head('GET /books', `A: ${'x'.repeat(17 * 1024)}`),
    refusal: [431, 'Request header fields too large'],
  },
  CONNECT: { bytes: head('CONNECT test:443'), refusal: BAD_REQUEST },
}

/** Answers a find or a create when it is told to, and lists more than the system's buffers take. */
class SlowStore implements Store {
  /** Fulfilled when a request waits. */
  asked = Promise.withResolvers<void>()
  #go = Promise.withResolvers<void>()

  /** Lets every request go that waits. */
  go(): void {
    this.#go.resolve()
    this.#go = Promise.withResolvers()
    this.asked = Promise.withResolvers()
  }

  async find(id: number) {
    this.asked.resolve()
    await this.#go.promise
    return { id, title: 'slow', author: 'A', year: 1 }
  }
  async create(book: { title: string; author: string; year: number }) {
    this.asked.resolve()
    await this.#go.promise
    return { id: 1, ...book }
  }
  async ready() {}
  async page(_query: BookQuery, after: Position | undefined) {
    const id = Number(after?.[0] ?? 0) + 1
    const book = { id, title: 'x'.repeat(1024 * 1024), author: 'A', year: 1 }
    return pageOf([book], { last: [id], more: id < 20 })
  }
  async count() {
    return 0
  }
  async statistics() {
    return { decades: [], authors: [] }
  }
  async import() {
    return { added: 0, skipped: 0 }
  }
  async update() {
    return undefined
  }
  async delete() {
    return false
  }
  load() {
    return {}
  }
  async close() {}
}

const store = new SlowStore()
let app: FastifyInstance
let url: string
let token: string
before(async () => {
  const auth = new Auth(ACCOUNT, SECRET)
  token = await auth.issue()
  app = await createTestServer(store, auth)
  await app.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
after(() => app.close())

const authorized = (line: string, ...fields: string[]) => head(line, `Authorization: ${token}`, ...fields)
const BOOK = '{"title":"slow","author":"A","year":1}'

/** Requests that the store keeps waiting, and their responses. */
const SLOW = {
  'GET /book/7': { request: () => authorized('GET /book/7'), status: 200 },
  'POST /book': {
    request: () => authorized('POST /book', `Content-Length: ${BOOK.length}`) + BOOK,
    status: 201,
  },
}

describe('decision: a client that closes its side of the connection after its request is taken for gone', () => {
  for (const [name, { request }] of Object.entries(SLOW)) {
    it(`${name} gets no response`, async () => {
      using connection = await RawConnection.open(url)
      await connection.send(request())
      await store.asked.promise
      connection.finish()
      assert.equal(await connection.rest(), '')
      store.go()
    })
  }
})

describe('requests that are sent at once', () => {
  it('are answered in order, although the first takes longest', async () => {
    using connection = await RawConnection.open(url)
    await connection.send(authorized('GET /book/7') + authorized('DELETE /book/8') + head('GET /nowhere'))
    await store.asked.promise
    await setTimeout(A_MOMENT)
    store.go()
    const first = await connection.response()
    assert.deepEqual(JSON.parse(first.body).data.id, 7)
    assertFailure(await connection.response(), 404, 'Book not found')
    assertFailure(await connection.response(), 404, 'Not found')
  })
})

describe('a request that waits for its response, then what cannot be read', () => {
  for (const [name, { request, status }] of Object.entries(SLOW)) {
    for (const [kind, { bytes, refusal }] of Object.entries(FATAL)) {
      it(`${name}, then ${kind}: both are answered in turn`, async () => {
        using connection = await RawConnection.open(url)
        await connection.send(request())
        await store.asked.promise
        await connection.send(bytes)
        await setTimeout(A_MOMENT)
        store.go()
        assert.equal((await connection.response()).status, status)
        assertFailure(await connection.response(), ...refusal)
        assert.equal(await connection.rest(), '')
      })

      it(`${name}, then ${kind}, in one packet: likewise`, async () => {
        using connection = await RawConnection.open(url)
        await connection.send(request() + bytes)
        await store.asked.promise
        await setTimeout(A_MOMENT)
        store.go()
        assert.equal((await connection.response()).status, status)
        assertFailure(await connection.response(), ...refusal)
        assert.equal(await connection.rest(), '')
      })
    }
  }

  it('two requests, then garbage: likewise', async () => {
    using connection = await RawConnection.open(url)
    await connection.send(authorized('GET /book/7') + authorized('DELETE /book/8') + GARBAGE)
    await store.asked.promise
    await setTimeout(A_MOMENT)
    store.go()
    assert.equal((await connection.response()).status, 200)
    assertFailure(await connection.response(), 404, 'Book not found')
    assertFailure(await connection.response(), ...BAD_REQUEST)
    assert.equal(await connection.rest(), '')
  })

  it('a list that the client has not taken yet, then garbage: likewise', async () => {
    using connection = await RawConnection.open(url)
    connection.stopReading()
    await connection.send(authorized('GET /books'))
    await setTimeout(A_MOMENT)
    await connection.send(GARBAGE)
    const [list = '', refusal = '', ...more] = (await connection.rest()).split(/(?=HTTP\/1\.1 )/)
    assert.match(list, /^HTTP\/1\.1 200 OK\r\n/)
    assert.ok(list.endsWith('\r\n]}\r\n0\r\n\r\n'), 'the list is whole')
    assert.match(refusal, /^HTTP\/1\.1 400 .*"message":"Bad request","data":null\}$/s)
    assert.deepEqual(more, [])
  })
})

describe('a request that is answered, then what cannot be read', () => {
  for (const [name, { request, status }] of Object.entries(SLOW)) {
    it(`${name}, then garbage: both are answered`, async () => {
      using connection = await RawConnection.open(url)
      await connection.send(request())
      await store.asked.promise
      store.go()
      assert.equal((await connection.response()).status, status)
      await connection.send(GARBAGE)
      assertFailure(await connection.response(), ...BAD_REQUEST)
      assert.equal(await connection.rest(), '')
    })
  }

  it('at once, with the garbage in the same packet: both are answered', async () => {
    using connection = await RawConnection.open(url)
    await connection.send(head('GET /nowhere') + GARBAGE)
    assertFailure(await connection.response(), 404, 'Not found')
    assertFailure(await connection.response(), ...BAD_REQUEST)
    assert.equal(await connection.rest(), '')
  })

  it('before its body, which is malformed: it gets no second response', async () => {
    using connection = await RawConnection.open(url)
    await connection.send(`${head('POST /book', 'Transfer-Encoding: chunked')}zz\r\n`)
    assertFailure(await connection.response(), 401, 'Authorization token required')
    assert.equal(await connection.rest(), '')
  })
})
