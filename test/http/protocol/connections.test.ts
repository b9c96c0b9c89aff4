import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Crowd } from '../../support/crowd.ts'
import { head } from '../../support/raw-socket.ts'
import { type ServiceInUse, useService } from '../../support/use-service.ts'

const FILES = 512
const MANY = 700

const skip = process.platform === 'linux' ? false : 'needs prlimit'

describe(`${MANY} idle connections where the system allows ${FILES} files`, { skip }, () => {
  const prepare = async (started: ServiceInUse) => {
    await started.createBook()
    // The service would close the connection kept from this, which is idle longest, just when it is used again.
    await fetch(`${started.url}/healthz`, { headers: { connection: 'close' } })
  }
  const service = useService(prepare, {}, ['sh', '-c', `ulimit -n ${FILES} && exec "$@"`, 'sh'])

  it('lock nobody out, leave the store its files, and are in the log', async () => {
    using crowd = new Crowd()
    await crowd.join(service.url, MANY, (socket) => socket.write(head('GET /nowhere')))
    // By then the service has accepted all of them.
    while (crowd.open > (FILES * 3) / 4) await setTimeout(10)
    // Each on a connection of its own.
    const headers = { authorization: service.token, connection: 'close' }
    for (let i = 0; i < 20; i++) {
      for (const [method, body] of [
        ['GET', null],
        ['PUT', '{"year":2}'],
      ] as const) {
        const response = await fetch(`${service.url}/book/1`, { method, body, headers })
        assert.equal(response.status, 200)
        await response.arrayBuffer()
      }
    }
    const search = await fetch(`${service.url}/books?q=t`, { headers })
    assert.equal(search.status, 200)
    while (!service.output().includes('too many connections')) await setTimeout(10)
    assert.equal(service.output().match(/too many connections/g)?.length, 1)
  })
})

/** Connections that come at once, and how many Node lets wait by default. */
const [AT_ONCE, DEFAULT] = [1000, 511]

/** What the system does not accept in this time, it has ignored; milliseconds. */
const PATIENCE = 30_000

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
      const signal = AbortSignal.timeout(PATIENCE)
      const connected = await Promise.allSettled(sockets.map((socket) => once(socket, 'connect', { signal })))
      assert.equal(connected.filter(({ status }) => status === 'fulfilled').length, AT_ONCE)
    } finally {
      service.thaw()
      for (const socket of sockets) socket.destroy()
    }
  })
})
