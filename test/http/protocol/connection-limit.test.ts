import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { connectionLimit, limitConnections } from '../../../src/http/protocol/connection-limit.ts'

import { oneAtATime, serveThrough } from '../../../src/http/protocol/turns.ts'

const LIMIT = 3

/** A server that answers at once, or when it is told to what asks for /slow. */
async function serve(t: TestContext, limit = LIMIT) {
  const warnings: object[] = []
  const slow: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/slow') slow.push(response)
    else response.end()
  })
  const log = { warn: (figures: object) => warnings.push(figures) } as unknown as FastifyBaseLogger
  limitConnections(server, log, limit)
  serveThrough(server, oneAtATime(1))
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
  assert.deepEqual(warnings, [{ limit: LIMIT, closed: 1, refused: 0 }])
})

it('one that is answered is never closed: then the new connection is, and the log tells it once', async (t) => {
  const { warnings, slow, open, ask, askSlowly } = await serve(t)
  const sockets = [await open(), await open(), await open()] as const
  for (const socket of sockets) await askSlowly(socket)
  for (let i = 0; i < 5; i++) {
    const refused = await open()
    if (!refused.closed) await once(refused, 'close')
  }
  assert.deepEqual(warnings, [{ limit: LIMIT, closed: 0, refused: 1 }])
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

it('an idle one is found behind very many that are answered, if not at once', async (t) => {
  const { open, ask, askSlowly } = await serve(t, 102)
  for (let i = 0; i < 101; i++) await askSlowly(await open())
  const idle = await open()
  const refused = await open()
  await once(refused, 'close')
  assert.ok(!idle.closed)
  await ask(await open())
})

it('each of many threads may have at least one connection', () => {
  assert.equal(connectionLimit(1_000_000), 1)
})
