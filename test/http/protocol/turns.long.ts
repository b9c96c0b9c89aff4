import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { head } from '../../support/raw-socket.ts'
import { useService } from '../../support/use-service.ts'

const MIB = 1024 * 1024
const SOCKETS = 4
const LISTS = 50
const BOOKS = 200

const skip = existsSync('/proc/self/status') ? false : 'needs /proc to see the memory of another process'

describe('many requests that are sent without waiting', { skip }, () => {
  const service = useService((started) =>
    started.importBooks(
      Array.from({ length: BOOKS }, (_, year) => ({ title: 'x'.repeat(10_000), author: 'A', year })),
    ),
  )

  function open(t: TestContext): Socket {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname).on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }

  const rise = (before: number) => Math.round((service.memory('VmHWM') - before) / MIB)

  it(`lists of 2 MB, ${LISTS} on each of ${SOCKETS} connections, take little memory, and others are served`, async (t) => {
    const before = service.memory('VmRSS')
    const headers = { authorization: service.token }
    const request = head('GET /books', `Authorization: ${service.token}`)
    let ended = 0
    const lists = Array.from({ length: SOCKETS }, async () => {
      const socket = open(t)
      let bytes = 0
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      socket.write(request.repeat(LISTS) + head('GET /nowhere', 'Connection: close'))
      await once(socket, 'close')
      ended++
      return bytes
    })
    for (let served = 0; served < 3; served++) {
      const response = await fetch(`${service.url}/book/1`, { headers })
      assert.deepEqual([response.status, ended], [200, 0])
      await response.arrayBuffer()
    }
    for (const bytes of await Promise.all(lists)) assert.ok(bytes > LISTS * BOOKS * 10_000, `${bytes} bytes`)
    assert.ok(rise(before) < 256, `the memory rose by ${rise(before)} MiB`)
  })

  it('clients that do not take their responses hold a bounded number of requests in memory', async (t) => {
    const before = service.memory('VmRSS')
    for (let i = 0; i < 100; i++) {
      const socket = open(t)
      socket.pause()
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\nHost:\r\n\r\n'.repeat(20_000))
      if (i % 10 === 9) await setTimeout(50)
    }
    await (await fetch(`${service.url}/healthz`)).text()
    assert.ok(rise(before) < 700, `the memory rose by ${rise(before)} MiB`)
  })
})
