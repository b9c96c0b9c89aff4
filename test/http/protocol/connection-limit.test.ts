import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { limitConnections } from '../../../src/http/protocol/connection-limit.ts'
import { oneAtATime, serveThrough } from '../../../src/http/protocol/turns.ts'
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

it('one that has never sent a request is idle from its beginning', async (t) => {
  const { open, ask } = await serve(t)
  const [first] = [await open(), await open(), await open()]
  await ask(await open())
  await closed(first as Socket)
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

it('one that has ended, idle or amid a request, is not counted, nor closed instead of one that is open', async (t) => {
  const { warnings, open, ask, askSlowly } = await serve(t)
  for (const begin of [ask, askSlowly]) {
    const gone = await open()
    await begin(gone)
    gone.destroy()
  }
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await ask(socket)
  assert.deepEqual(warnings, [])
  await ask(await open())
  await closed(sockets[0])
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
