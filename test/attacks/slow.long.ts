import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { setInterval } from 'node:timers/promises'
import { head } from '../support/raw-socket.ts'
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
  for (const init of [{ headers }, { headers, method: 'PUT', body: '{"year":2}' }]) {
    const response = await fetch(`${service.url}/book/1`, init)
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

/** Waits until the service has ended every connection. @returns what came on each. */
const received = (sockets: readonly Socket[]): Promise<string[]> =>
  Promise.all(sockets.map((socket) => text(socket).catch(() => '')))

const TIMEOUT = '{"status":408,"message":"Request timeout","data":null}'

describe('while many clients are slow, others are served, and the slow are cut in time', {
  concurrency: true,
}, () => {
  for (const [name, bytes, limit, drips] of [
    ['nothing at all', '', 10, false],
    ['headers that do not end', 'GET /books HTTP/1.1\r\nHost: test\r\nA: ', 10, false],
    ['headers that do not end, and a byte more now and then', 'GET /books HTTP/1.1\r\nA: ', 10, true],
    ['a body that does not come', head('POST /token', 'Content-Length: 100'), 30, false],
  ] as const) {
    it(`${SOME} that send ${name}: 408 after ${limit} seconds`, { timeout: 120_000 }, async (t) => {
      const begun = Date.now()
      const sockets = await occupy(t, SOME, bytes)
      const texts = received(sockets)
      await assertServed()
      if (drips)
        for await (const _ of setInterval(500)) {
          if (sockets.every((socket) => socket.readableEnded || socket.destroyed)) break
          for (const socket of sockets) socket.write('x')
        }
      for (const text of await texts) {
        // A client that has sent nothing has asked for nothing; one that goes on sending may miss the response.
        if ((bytes === '' || drips) && text === '') continue
        assert.ok(text.startsWith('HTTP/1.1 408 ') && text.endsWith(TIMEOUT), text)
      }
      const seconds = (Date.now() - begun) / 1000
      assert.ok(seconds > limit - 1, `${seconds} s`)
      await assertServed()
    })
  }
})

it(`${MANY} connections that are idle after a request keep nobody waiting`, async (t) => {
  const [first] = await occupy(t, MANY, head('GET /nowhere'))
  await assertServed()
  assert.ok(first !== undefined)
  first.write(head('GET /nowhere', 'Connection: close'))
  assert.match(await text(first), /HTTP\/1\.1 404.*HTTP\/1\.1 404/s)
})

const NOTHING_OR_400 = /^$|^HTTP\/1\.1 400 .*"Bad request"/s
const readBook = () => head('GET /book/1', `Authorization: ${service.token}`)

for (const [when, request, expected] of [
  ['before a request are closed at once', () => '', /^$/],
  ['amid headers are refused at once', () => readBook().slice(0, -2), NOTHING_OR_400],
  ['before a body are refused at once', () => head('POST /token', 'Content-Length: 9'), NOTHING_OR_400],
  ['after a request get their answer, then the end', readBook, /^HTTP\/1\.1 200 .*"Book retrieved/s],
] as const)
  it(`${SOME} connections that are half closed ${when}`, async (t) => {
    const sockets = await occupy(t, SOME, request())
    for (const socket of sockets) socket.end()
    for (const text of await received(sockets)) assert.match(text, expected)
    await assertServed()
    assert.doesNotMatch(service.output(), /"level":[456]0/)
  })
