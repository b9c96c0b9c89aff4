import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { head } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const SOME = 200

const service = useService((started) => started.createBook())

/** Connections that send these bytes and then close their side, until the end of the test. */
async function halfClose(t: TestContext, bytes: string): Promise<Socket[]> {
  const { hostname, port } = new URL(service.url)
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < SOME; i++) {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.end(bytes)
  }
  return sockets
}

const NOTHING_OR_400 = /^$|^HTTP\/1\.1 400 .*"Bad request"/s
const readBook = () => head('GET /book/1', `Authorization: ${service.token}`)

// Clients that are slow: test/spec/decisions-slow.long.ts and test/http/protocol/connection-limit.test.ts.
for (const [when, request, expected] of [
  ['before a request are closed at once', () => '', /^$/],
  ['amid headers are refused at once', () => readBook().slice(0, -2), NOTHING_OR_400],
  ['before a body are refused at once', () => head('POST /token', 'Content-Length: 9'), NOTHING_OR_400],
  ['after a request get their answer, then the end', readBook, /^HTTP\/1\.1 200 .*"Book retrieved/s],
] as const)
  it(`${SOME} connections that are half closed ${when}`, async (t) => {
    const sockets = await halfClose(t, request())
    // Until the service has ended every connection.
    const received = await Promise.all(sockets.map((socket) => text(socket).catch(() => '')))
    for (const each of received) assert.match(each, expected)
    assert.doesNotMatch(service.output(), /"level":[456]0/)
  })
