import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { it, type TestContext } from 'node:test'
import { hasWaiting, oneAtATime, serveThrough } from '../../../src/http/protocol/turns.ts'
import { head, RawConnection } from '../../support/raw-socket.ts'

const get = (...paths: string[]) => paths.map((path) => head(`GET ${path}`)).join('')
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`)

/** A server that answers with the path at once, or when it is told to what asks for /slow. */
async function serve(t: TestContext, limit = 10_000) {
  const served: (string | undefined)[] = []
  const slow: ServerResponse[] = []
  const idle = new Set<Socket>()
  const server = createServer((request, response) => {
    served.push(request.url)
    if (request.url === '/slow') slow.push(response)
    else response.end(request.url)
  })
  serveThrough(server, oneAtATime(limit, idle))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const open = async () => {
    const connection = await RawConnection.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => connection[Symbol.dispose]())
    return connection
  }
  /** Sends requests, and waits until Node has read them. */
  const send = async (connection: RawConnection, ...paths: string[]) => {
    let count = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    const onRequest = () => ++count === paths.length && resolve()
    server.on('request', onRequest)
    await connection.send(get(...paths))
    await promise
    server.off('request', onRequest)
  }
  return { served, slow, idle, open, send }
}

async function assertResponses(connection: RawConnection, paths: readonly string[]): Promise<void> {
  for (const path of paths) assert.equal((await connection.response()).body, path)
}

it('requests of one connection are served one after the other, in their order', async (t) => {
  const { served, slow, idle, open, send } = await serve(t)
  const connection = await open()
  await send(connection, '/slow', '/1', '/2')
  assert.deepEqual([served, idle.size], [['/slow'], 0])
  slow[0]?.end('/slow')
  await assertResponses(connection, ['/slow', '/1', '/2'])
  await new Promise(setImmediate)
  assert.deepEqual([served, idle.size], [['/slow', '/1', '/2'], 1])
})

it('a connection is read no further while ten requests wait', async (t) => {
  const { slow, open, send } = await serve(t)
  const connection = await open()
  await send(connection, '/slow', ...numbered(9))
  const socket = slow[0]?.req.socket
  assert.equal(socket?.isPaused(), false)
  await send(connection, '/10th')
  assert.equal(socket?.isPaused(), true)
  await connection.send(get(...numbered(30)))
  slow[0]?.end('/slow')
  await assertResponses(connection, ['/slow', ...numbered(9), '/10th', ...numbered(30)])
})

it('a client whose requests are more than may wait on all connections is cut, and others are not', async (t) => {
  const { slow, open, send } = await serve(t, 2)
  const first = await open()
  await send(first, '/slow', '/1', '/2')
  for (let time = 0; time < 2; time++) {
    const cut = await open()
    await send(cut, '/slow', '/3')
    assert.equal(await cut.rest(), '')
  }
  slow[0]?.end('/slow')
  await assertResponses(first, ['/slow', '/1', '/2'])
  // There is room again.
  await send(first, '/slow', '/4', '/5')
  slow.at(-1)?.end('/slow')
  await assertResponses(first, ['/slow', '/4', '/5'])
})

it('a client that goes away leaves none of its requests to be served, nor to be waited for', async (t) => {
  const { served, slow, open, send } = await serve(t, 2)
  for (let time = 1; time <= 2; time++) {
    const gone = await open()
    await send(gone, '/slow', '/1', '/2')
    gone.reset()
    const response = slow[time - 1] as ServerResponse
    if (!response.closed) await once(response, 'close')
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    assert.deepEqual([served, hasWaiting(response.req)], [Array(time).fill('/slow'), false])
  }
})

it('a client with a thousand requests does not keep another waiting', async (t) => {
  const { served, open } = await serve(t)
  const [many, one] = [await open(), await open()]
  many.send(get(...numbered(1000)))
  one.send(get('/one'))
  await assertResponses(one, ['/one'])
  await assertResponses(many, numbered(1000))
  assert.ok(served.indexOf('/one') < 900, `${served.indexOf('/one')} were served before`)
})
