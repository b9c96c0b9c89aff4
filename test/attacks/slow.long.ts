import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertFailure, head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const MANY = 2000
const SOME = 200

const service = useService((started) => started.createBook())

/** Connections that send these bytes and nothing else, until the end of the test. */
async function occupy(t: TestContext, count: number, bytes: string): Promise<Socket[]> {
  const { hostname, port } = new URL(service.url)
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < count; i++) {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    if (bytes !== '') socket.write(bytes)
  }
  return sockets
}

/** A client that minds its own business. */
async function assertServed(): Promise<void> {
  const headers = { authorization: service.token }
  const read = await fetch(`${service.url}/book/1`, { headers, signal: AbortSignal.timeout(60_000) })
  assert.equal(read.status, 200)
  await read.arrayBuffer()
  const written = await fetch(`${service.url}/book/1`, { method: 'PUT', headers, body: '{"year":2}' })
  assert.equal(written.status, 200)
  await written.arrayBuffer()
}

/** Waits until the service has ended every connection. @returns what came on each. */
async function ends(sockets: readonly Socket[]): Promise<string[]> {
  return Promise.all(
    sockets.map(async (socket) => {
      let text = ''
      socket.setEncoding('utf8').on('data', (more: string) => {
        text += more
      })
      if (!socket.readableEnded && !socket.destroyed) {
        await Promise.race([once(socket, 'end'), once(socket, 'close')])
      }
      socket.destroy()
      return text
    }),
  )
}

const TIMEOUT = '{"status":408,"message":"Request timeout","data":null}'

describe('while many clients are slow, others are served, and the slow are cut in time', {
  concurrency: true,
}, () => {
  for (const [name, bytes, limit] of [
    ['nothing at all', '', 10],
    ['headers that do not end', 'GET /books HTTP/1.1\r\nHost: test\r\nA: ', 10],
    ['a body that does not come', head('POST /token', 'Content-Length: 100'), 30],
    [
      'a chunked body that does not end',
      `${head('POST /token', 'Transfer-Encoding: chunked')}1\r\n{\r\n`,
      30,
    ],
  ] as const) {
    it(`${SOME} that send ${name}: 408 after ${limit} seconds`, { timeout: 120_000 }, async (t) => {
      const begun = Date.now()
      const sockets = await occupy(t, SOME, bytes)
      const received = ends(sockets)
      await assertServed()
      const texts = await received
      const seconds = (Date.now() - begun) / 1000
      assert.ok(seconds > limit - 1, `${seconds} s`)
      for (const text of texts) {
        // A client that has sent nothing has asked for nothing.
        if (bytes !== '' || text !== '')
          assert.ok(text.startsWith('HTTP/1.1 408 ') && text.endsWith(TIMEOUT), text)
      }
      await assertServed()
    })
  }

  it('a client that sends a byte now and then gains nothing', async () => {
    using connection = await RawConnection.open(service.url)
    await connection.send('GET /books HTTP/1.1\r\nHost: test\r\nA: ')
    const drip = globalThis.setInterval(() => connection.send('x'), 500)
    try {
      assertFailure(await connection.response(), 408, 'Request timeout')
    } finally {
      clearInterval(drip)
    }
    assert.equal(await connection.rest(), '')
  })
})

describe('many connections at once', () => {
  it(`${MANY} that are idle after a request keep nobody waiting`, async (t) => {
    const sockets = await occupy(t, MANY, head('GET /nowhere'))
    await assertServed()
    const [first] = sockets
    assert.ok(first !== undefined)
    const response = once(first, 'data')
    first.write(head('GET /nowhere'))
    assert.match(String(await response), /HTTP\/1\.1 404/)
  })

  it(`${SOME} that are half closed before a request are closed at once`, async (t) => {
    const sockets = await occupy(t, SOME, '')
    for (const socket of sockets) socket.end()
    assert.deepEqual(new Set(await ends(sockets)), new Set(['']))
    await assertServed()
  })

  it(`${SOME} that are half closed amid a request are refused at once`, async (t) => {
    for (const bytes of [
      'GET /boo',
      head('GET /books').slice(0, -2),
      head('POST /token', 'Content-Length: 9'),
    ]) {
      const sockets = await occupy(t, SOME, bytes)
      for (const socket of sockets) socket.end()
      for (const text of await ends(sockets)) assert.match(text, /^$|^HTTP\/1\.1 400 .*"Bad request"/s)
    }
    await assertServed()
  })

  it(`${SOME} that are half closed after a request get their answer, then the end`, async (t) => {
    const request = head('GET /book/1', `Authorization: ${service.token}`)
    const sockets = await occupy(t, SOME, request)
    for (const socket of sockets) socket.end()
    for (const text of await ends(sockets))
      assert.match(text, /^HTTP\/1\.1 200 .*"Book retrieved successfully"/s)
    await assertServed()
  })

  it('all of them gone, the service has no connection left but ours, and has logged no failure', async () => {
    await setTimeout(100)
    await assertServed()
    assert.doesNotMatch(service.output(), /"level":[456]0/)
  })
})
