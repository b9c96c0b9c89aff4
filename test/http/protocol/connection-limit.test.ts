import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { limitConnections } from '../../../src/http/protocol/connection-limit.ts'
import { hasWaiting, oneAtATime, serveThrough } from '../../../src/http/protocol/turns.ts'

const LIMIT = 3

/** A server that answers at once, or when it is told to what asks for /slow. */
async function serve(t: TestContext, limit = LIMIT) {
  const warnings: object[] = []
  const slow: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/slow') slow.push(response)
    else response.end()
  })
  // Node would close idle connections by itself after five seconds.
  server.keepAliveTimeout = 0
  const log = { warn: (figures: object) => warnings.push(figures) }
  const idle = new Set<Socket>()
  limitConnections(server, limit, idle, log)
  serveThrough(server, oneAtATime(10, idle))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
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
    socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
    await once(socket, 'data')
  }
  const askSlowly = async (socket: Socket) => {
    const count = slow.length
    socket.write('GET /slow HTTP/1.1\r\nHost: test\r\n\r\n')
    while (slow.length === count) await setTimeout(1)
  }
  return { warnings, slow, open, ask, askSlowly }
}

it('a connection over the limit takes the place of the one that has been idle longest', async (t) => {
  const { warnings, open, ask } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await ask(socket)
  await ask(sockets[0])
  const another = await open()
  if (!sockets[1].closed) await once(sockets[1], 'close')
  await ask(another)
  await ask(sockets[0])
  await ask(sockets[2])
  assert.deepEqual(warnings, [{ limit: LIMIT }])
})

it('one that is answered is never closed: then the new connection is, and the log tells it once', async (t) => {
  const { warnings, slow, open, ask, askSlowly } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await askSlowly(socket)
  for (let i = 0; i < 5; i++) {
    const refused = await open()
    if (!refused.closed) await once(refused, 'close')
  }
  assert.deepEqual(warnings, [{ limit: LIMIT }])
  slow[1]?.end()
  await once(sockets[1], 'data')
  await ask(await open())
  assert.ok(!sockets[0].closed && !sockets[2].closed)
})

it('connections that have ended make room: none is closed for another one', async (t) => {
  const { warnings, open, ask } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) {
    await ask(socket)
    socket.end()
    await once(socket, 'close')
  }
  await ask(await open())
  assert.deepEqual(warnings, [])
})

it('requests that wait on a connection that has ended wait no more', async (t) => {
  const { slow, open, askSlowly } = await serve(t)
  const gone = await open()
  await askSlowly(gone)
  const [response] = slow as [ServerResponse]
  gone.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(2))
  while (!hasWaiting(response.req)) await setTimeout(1)
  gone.destroy()
  if (!response.closed) await once(response, 'close')
  assert.equal(hasWaiting(response.req), false)
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
  if (!sockets[0].closed) await once(sockets[0], 'close')
})
