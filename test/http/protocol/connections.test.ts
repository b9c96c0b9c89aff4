import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { closeAfterResponse } from '../../../src/http/protocol/close.ts'
import { hasWaiting, manageConnections } from '../../../src/http/protocol/connections.ts'
import { Crowd } from '../../support/crowd.ts'
import { head, RawConnection } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

/** The most connections of a server. */
const LIMIT = 3

const get = (...paths: string[]) => paths.map((path) => head(`GET ${path}`)).join('')
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `/${i}`)

/** A server that answers with the path at once, or when it is told to what asks for /slow. */
async function serve(t: TestContext, waitingRequests = 10_000) {
  const served: (string | undefined)[] = []
  const slow: ServerResponse[] = []
  const warnings: object[] = []
  const server = createServer((request, response) => {
    served.push(request.url)
    if (request.url === '/slow') slow.push(response)
    else response.end(request.url)
  })
  // Node would close idle connections by itself after five seconds.
  server.keepAliveTimeout = 0
  const limits = { connections: LIMIT, waitingRequests }
  manageConnections(server, limits, { warn: (figures: object) => warnings.push(figures) })
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
  const openAll = async () => [await open(), await open(), await open()] as const
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
  return { served, slow, warnings, open, openAll, send }
}

async function assertResponses(connection: RawConnection, paths: readonly string[]): Promise<void> {
  for (const path of paths) assert.equal((await connection.response()).body, path)
}

async function ask(connection: RawConnection): Promise<void> {
  await connection.send(get('/'))
  await assertResponses(connection, ['/'])
}

it('requests of one connection are served one after the other, in their order, and it is read no further while ten wait', async (t) => {
  const { served, slow, open, send } = await serve(t)
  const connection = await open()
  await send(connection, '/slow', ...numbered(9))
  const socket = slow[0]?.req.socket
  assert.deepEqual([served, socket?.isPaused()], [['/slow'], false])
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

it('a connection that ends after a response, which its client still reads, leaves no requests that wait', async (t) => {
  const { served, slow, open, send } = await serve(t)
  await send(await open(), '/slow', '/1', '/2')
  const response = slow[0] as ServerResponse
  closeAfterResponse(response.req.socket)
  response.setHeader('connection', 'close').end()
  await once(response, 'close')
  await new Promise(setImmediate)
  assert.deepEqual([served, hasWaiting(response.req)], [['/slow'], false])
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

it('a connection over the limit takes the place of the one that has been idle longest, since its beginning or its last response', async (t) => {
  const { warnings, open, openAll } = await serve(t)
  const [first, silent, other] = await openAll()
  await ask(first)
  await ask(other)
  const another = await open()
  await silent.rest()
  for (const connection of [another, first, other]) await ask(connection)
  await open()
  await another.rest()
  for (const connection of [first, other]) await ask(connection)
  assert.deepEqual(warnings, [{ limit: LIMIT }])
})

it('one that is answered is never closed: then the new connection is, and the log tells it once a minute', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { warnings, slow, open, openAll, send } = await serve(t)
  const connections = await openAll()
  for (const connection of connections) await send(connection, '/slow')
  for (now of [0, 1, 59_999, 60_000, 60_001]) await (await open()).rest()
  assert.deepEqual(warnings, Array(2).fill({ limit: LIMIT }))
  slow[1]?.end('/slow')
  await assertResponses(connections[1], ['/slow'])
  await ask(await open())
  for (const i of [0, 2] as const) {
    slow[i]?.end('/slow')
    await assertResponses(connections[i], ['/slow'])
  }
})

it('one that has ended, idle or amid a request, is not counted, nor closed instead of one that is open', async (t) => {
  const { warnings, open, openAll, send } = await serve(t)
  for (const path of ['/', '/slow']) {
    const gone = await open()
    await send(gone, path)
    gone[Symbol.dispose]()
  }
  const connections = await openAll()
  for (const connection of connections) await ask(connection)
  assert.deepEqual(warnings, [])
  await ask(await open())
  await connections[0].rest()
})

const FILES = 512

describe('more idle connections than the system allows files', {
  skip: process.platform === 'linux' ? false : 'needs /proc/self/limits',
}, () => {
  const limited = ['sh', '-c', `ulimit -n ${FILES} && exec "$@"`, 'sh']
  const service = useService((started) => started.createBook(), {}, limited)

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
