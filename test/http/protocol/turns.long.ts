import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { head, RawConnection } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const MIB = 1024 * 1024
const SOCKETS = 4
const REQUESTS = 5000
const LISTS = 50
const BOOKS = 200

/** The smallest request that there is. */
const TINY = 'GET / HTTP/1.1\r\nHost:\r\n\r\n'

const skip = existsSync('/proc/self/status') ? false : 'needs /proc to see the memory of another process'

describe('thousands of requests that are sent without waiting', { skip }, () => {
  const service = useService(async (started) => {
    const title = 'x'.repeat(10_000)
    for (let i = 0; i < BOOKS; i++) await started.createBook({ title, author: 'A', year: i })
  })

  function open(t: TestContext): Socket {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname).on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }

  /** Serves another client until the promise is settled. @returns how often. */
  async function serveOthersDuring<Result>(
    work: Promise<Result>,
  ): Promise<{ result: Result; served: number }> {
    let isOver = false
    const over = work.finally(() => {
      isOver = true
    })
    let served = 0
    while (!isOver) {
      const headers = { authorization: service.token }
      const response = await fetch(`${service.url}/book/1`, { headers, signal: AbortSignal.timeout(20_000) })
      assert.equal(response.status, 200)
      await response.arrayBuffer()
      served++
      await setTimeout(10)
    }
    return { result: await over, served }
  }

  it(`${REQUESTS} on each of ${SOCKETS} connections are answered in order, and others meanwhile`, async (t) => {
    const before = service.memory('VmRSS')
    const responses = Array.from({ length: SOCKETS }, async () => {
      const socket = open(t)
      let text = ''
      socket.setEncoding('latin1').on('data', (more: string) => {
        text += more
      })
      const fields = (i: number) => [
        `X-Request-Id: ${i}`,
        ...(i === REQUESTS - 1 ? ['Connection: close'] : []),
      ]
      socket.write(Array.from({ length: REQUESTS }, (_, i) => head('GET /nowhere', ...fields(i))).join(''))
      await once(socket, 'close')
      return text.match(/(?<=x-request-id: )\d+/g)?.map(Number)
    })
    const { result, served } = await serveOthersDuring(Promise.all(responses))
    const inOrder = Array.from({ length: REQUESTS }, (_, i) => i)
    for (const ids of result) assert.deepEqual(ids, inOrder)
    const rise = Math.round((service.memory('VmHWM') - before) / MIB)
    t.diagnostic(`the memory rose by ${rise} MiB; ${served} requests of others were answered`)
    assert.ok(served >= 3 && rise < 256, `${served} served, the memory rose by ${rise} MiB`)
  })

  it(`lists of 2 MB, ${LISTS} on each of ${SOCKETS} connections, are answered one after the other`, async (t) => {
    const before = service.memory('VmRSS')
    const request = head('GET /books', `Authorization: ${service.token}`)
    const lists = Array.from({ length: SOCKETS }, async () => {
      const socket = open(t)
      let bytes = 0
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      socket.write(request.repeat(LISTS) + head('GET /nowhere', 'Connection: close'))
      await once(socket, 'close')
      return bytes
    })
    const { result, served } = await serveOthersDuring(Promise.all(lists))
    for (const bytes of result) assert.ok(bytes > LISTS * BOOKS * 10_000, `${bytes} bytes`)
    const rise = Math.round((service.memory('VmHWM') - before) / MIB)
    t.diagnostic(`the memory rose by ${rise} MiB; ${served} requests of others were answered`)
    assert.ok(served >= 3 && rise < 256, `${served} served, the memory rose by ${rise} MiB`)
  })

  it('clients that do not take their responses hold a bounded number of requests in memory', async (t) => {
    const before = service.memory('VmRSS')
    for (let i = 0; i < 100; i++) {
      const socket = open(t)
      socket.pause()
      await once(socket, 'connect')
      socket.write(TINY.repeat(20_000))
      if (i % 10 === 9) await setTimeout(50)
    }
    await serveOthersDuring(setTimeout(1000))
    const rise = Math.round((service.memory('VmHWM') - before) / MIB)
    t.diagnostic(`the memory rose by ${rise} MiB`)
    assert.ok(rise < 700, `the memory rose by ${rise} MiB`)
  })

  it('and a client that goes away leaves none of its requests to be served', async (t) => {
    const body = '{"title":"too late","author":"A","year":1}'
    const post =
      head('POST /book', `Authorization: ${service.token}`, `Content-Length: ${body.length}`) + body
    const socket = open(t)
    socket.write(TINY)
    await once(socket, 'data')
    // It finds the connection reset when it answers the first request.
    service.freeze()
    await new Promise((sent) => socket.write(post.repeat(300), sent))
    socket.resetAndDestroy()
    service.thaw()
    const count = async () => {
      for (;;) {
        const response = await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
        const { data } = (await response.json()) as { data: unknown[] | null }
        if (data !== null) return data.length
        // The attack before may have left the service overloaded for a moment.
        assert.equal(response.status, 503)
        await setTimeout(100)
      }
    }
    let stored = -1
    for (let last = -2; stored !== last; await setTimeout(500)) {
      last = stored
      stored = await count()
    }
    assert.ok(stored < BOOKS + 150, `${stored - BOOKS} of 300 were stored`)
  })

  it('and all of them together leave room for those that others send', async () => {
    // With those above, more than may wait at once.
    const count = 30_000
    using connection = await RawConnection.open(service.url)
    await connection.send(head('GET /nowhere').repeat(count - 1) + head('GET /nowhere', 'Connection: close'))
    assert.equal((await connection.rest()).match(/HTTP\/1\.1 404/g)?.length, count)
  })
})
