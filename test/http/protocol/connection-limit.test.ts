import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { limitConnections } from '../../../src/http/protocol/connection-limit.ts'
import { hasWaiting, oneAtATime, serveThrough } from '../../../src/http/protocol/turns.ts'
import { Crowd } from '../../support/crowd.ts'
import { head } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const LIMIT = 3

/** A server that answers at once, or when it is told to what asks for /slow. */
async function serve(t: TestContext) {
  const warnings: object[] = []
  const slow: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/slow') slow.push(response)
    else response.end()
  })
  // Node would close idle connections by itself after five seconds.
  server.keepAliveTimeout = 0
  const idle = new Set<Socket>()
  limitConnections(server, LIMIT, idle, { warn: (figures: object) => warnings.push(figures) })
  serveThrough(server, oneAtATime(10, idle))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    await once(socket, 'connect')
    return socket
  }
  const ask = async (socket: Socket) => {
    socket.write(head('GET /'))
    await once(socket, 'data')
  }
  const askSlowly = async (socket: Socket) => {
    const asked = once(server, 'request')
    socket.write(head('GET /slow'))
    await asked
  }
  return { warnings, slow, open, ask, askSlowly }
}

const closed = async (socket: Socket) => socket.closed || (await once(socket, 'close'))

it('a connection over the limit takes the place of the one that has been idle longest', async (t) => {
  const { warnings, open, ask } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await ask(socket)
  await ask(sockets[0])
  const another = await open()
  await closed(sockets[1])
  for (const socket of [another, sockets[0], sockets[2]]) await ask(socket)
  assert.deepEqual(warnings, [{ limit: LIMIT }])
})

it('one that is answered is never closed: then the new connection is, and the log tells it once a minute', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { warnings, slow, open, ask, askSlowly } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await askSlowly(socket)
  for (now of [0, 1, 59_999, 60_000, 60_001]) await closed(await open())
  assert.deepEqual(warnings, Array(2).fill({ limit: LIMIT }))
  slow[1]?.end()
  await once(sockets[1], 'data')
  await ask(await open())
  assert.ok(!sockets[0].closed && !sockets[2].closed)
})

it('connections that have ended make room: none is closed for another one', async (t) => {
  const { warnings, open, ask } = await serve(t)
  for (let i = 0; i < 2 * LIMIT; i++) {
    const socket = await open()
    await ask(socket)
    socket.end()
    await once(socket, 'close')
  }
  assert.deepEqual(warnings, [])
})

it('nor does one that ended long ago, idle or amid a request, make room instead of one that is open', async (t) => {
  const { open, ask, askSlowly } = await serve(t)
  for (const begin of [ask, askSlowly]) {
    const gone = await open()
    await begin(gone)
    gone.destroy()
  }
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await ask(socket)
  await ask(await open())
  await closed(sockets[0])
})

it('requests that wait on a connection that has ended wait no more', async (t) => {
  const { slow, open, askSlowly } = await serve(t)
  const gone = await open()
  await askSlowly(gone)
  const [response] = slow as [ServerResponse]
  gone.write(head('GET /').repeat(2))
  while (!hasWaiting(response.req)) await setTimeout(1)
  gone.destroy()
  if (!response.closed) await once(response, 'close')
  assert.equal(hasWaiting(response.req), false)
})

const FILES = 512

describe('more idle connections than the system allows files', {
  skip: process.platform === 'linux' ? false : 'needs /proc/self/limits',
}, () => {
  const service = useService(
    async (started) => {
      await started.createBook()
      // The service would close the connection kept from this, which is idle longest, just when it is used again.
      await fetch(`${started.url}/healthz`, { headers: { connection: 'close' } })
    },
    {},
    ['sh', '-c', `ulimit -n ${FILES} && exec "$@"`, 'sh'],
  )

  it('lock nobody out, leave the store its files, and are in the log', async () => {
    using crowd = new Crowd()
    await crowd.join(service.url, FILES + 200, (socket) => socket.write(head('GET /nowhere')))
    // By then the service has accepted all of them.
    while (crowd.open > (FILES * 3) / 4) await setTimeout(10)
    // Each on a connection of its own.
    const headers = { authorization: service.token, connection: 'close' }
    for (const [method, path, body] of [
      ['GET', '/book/1', null],
      ['PUT', '/book/1', '{"year":2}'],
      ['GET', '/books?q=t', null],
    ] as const) {
      const response = await fetch(service.url + path, { method, body, headers })
      assert.equal(response.status, 200)
      await response.arrayBuffer()
    }
    while (!service.output().includes('too many connections')) await setTimeout(10)
    assert.equal(service.output().match(/too many connections/g)?.length, 1)
  })
})

/** Connections that come at once, and how many Node lets wait by default. */
const [AT_ONCE, DEFAULT] = [1000, 511]

/** How many connections the system lets wait at most. */
function systemLimit(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'latin1'))
  } catch {
    return DEFAULT
  }
}

const tooFew = systemLimit() < AT_ONCE ? 'the system lets too few connections wait' : false

describe(`${AT_ONCE} connections at once to a busy service`, { skip: tooFew }, () => {
  const service = useService()

  it('all wait until it accepts them', async () => {
    const { hostname, port } = new URL(service.url)
    service.freeze()
    const sockets = Array.from({ length: AT_ONCE }, () => connect({ host: hostname, port: Number(port) }))
    try {
      // What the system does not accept in this time, it has ignored.
      const signal = AbortSignal.timeout(30_000)
      await Promise.all(sockets.map((socket) => once(socket, 'connect', { signal })))
    } finally {
      service.thaw()
      for (const socket of sockets) socket.destroy()
    }
  })
})
