import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ReadsFirst } from '../src/reads-first.ts'

describe('reads first', () => {
  it('a read does not wait for all writes that came before it', async () => {
    const { come, served } = server()
    come('GET', 'an earlier read')
    for (let i = 1; i <= 20; i++) come('PUT', `write ${i}`)
    come('GET', 'the read')
    assert.deepEqual(served, ['an earlier read', 'the read'])
    await setImmediate()
    assert.ok(served.length > 2 && served.length < 12, `${served.length} served after one turn`)
    for (let turns = 0; turns < 10; turns++) await setImmediate()
    assert.deepEqual(
      served.slice(2),
      Array.from({ length: 20 }, (_, i) => `write ${i + 1}`),
    )
  })

  it('where nobody reads, a write is served at once', () => {
    const { come, served } = server()
    for (let i = 1; i <= 20; i++) come('POST', `write ${i}`)
    assert.equal(served.length, 20)
  })

  it('many reads do not keep writes waiting for longer than as many', async () => {
    const { come, served } = server()
    for (let i = 1; i <= 40; i++) come('HEAD', `read ${i}`)
    for (let i = 1; i <= 40; i++) come('DELETE', `write ${i}`)
    assert.equal(served.length, 40)
    await setImmediate()
    assert.equal(served.length, 80)
  })

  it('all that waits can be served at once, in order', () => {
    const { come, served, order } = server()
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) come(method, method)
    order.serveAll()
    assert.deepEqual(served, ['GET', 'PUT', 'POST', 'DELETE'])
  })

  it('a write whose client is gone is not served', async () => {
    const { come, served } = server()
    come('GET', 'read')
    const { socket } = come('PUT', 'write')
    socket.writable = false
    await setImmediate()
    assert.deepEqual(served, ['read'])
  })
})

/** What serves notes the address of each request. */
function server() {
  const served: (string | undefined)[] = []
  const order = new ReadsFirst()
  const serve = order.inOrder((request) => served.push(request.url))
  const come = (method: string, url: string) => {
    const request = { method, url, socket: { writable: true } }
    serve(request as unknown as IncomingMessage, {} as ServerResponse)
    return request
  }
  return { come, served, order }
}
