import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { until } from '../faults/engine-servers.ts'
import type { Databases } from '../support/database-server.ts'
import { databasesAt } from '../support/databases.ts'
import { engineMissing } from '../support/engines.ts'
import { haproxyMissing, startHaproxy } from '../support/haproxy.ts'
import { type ChaosEvent, isFull, repeat, severalHosts, surviveChaos } from './chaos.ts'
import { type GaleraNode, galeraMissing, startGalera } from './galera-cluster.ts'

/** How often each happens. */
const [KILLS, STOPS, FREEZES] = isFull ? [20, 5, 5] : [2, 1, 1]

/** How long a node is down, and how long one stands still; milliseconds. */
const [DOWN, FREEZE] = [4000, isFull ? 40_000 : 10_000]

const options = { timeout: isFull ? 3_600_000 : 180_000 }

describe('a Galera cluster under load', {
  skip: engineMissing('mysql') || galeraMissing || haproxyMissing,
}, () => {
  const started = new AsyncDisposableStack()
  let nodes: readonly GaleraNode[] = []
  let databases: Databases
  before(async () => {
    nodes = await startGalera({
      // A service may use several nodes at once, while connections move to another.
      settings: { 'wsrep-sync-wait': '7' },
      // By default the others wait for 5 seconds before they go on without a node.
      provider: {
        'evs.keepalive_period': 'PT0.5S',
        'evs.inactive_check_period': 'PT0.3S',
        'evs.suspect_timeout': 'PT2S',
        'evs.inactive_timeout': 'PT5S',
        'evs.install_timeout': 'PT5S',
      },
    })
    for (const node of nodes) started.defer(() => node.remove())
    const haproxy = await startHaproxy(
      'GET /',
      await Promise.all(nodes.map((node) => checked(started, node))),
    )
    started.defer(haproxy.remove)
    databases = databasesAt(Object.assign(new URL(nodes[0]?.url ?? ''), { port: haproxy.port }).href)
    await until('HAProxy has found a node', () =>
      databases.query('SELECT 1').then(
        () => true,
        () => false,
      ),
    )
  }, options)
  after(async () => {
    await started.disposeAsync()
  })

  const whole = () =>
    until('all nodes are one cluster', async () =>
      (await Promise.all(nodes.map((node) => isInCluster(node).catch(() => false)))).every(Boolean),
    )

  const isInCluster = async (node: GaleraNode) => {
    await node.catchUp()
    const [size] = await node.query("SHOW STATUS LIKE 'wsrep_cluster_size'")
    return Number(size?.Value) === nodes.length
  }

  /** The node that services have the most connections to. */
  const inUse = async () => {
    const sql = "SELECT count(*) AS count FROM information_schema.processlist WHERE user LIKE 'books_%'"
    const used = await Promise.all(
      nodes.map(async (node) => ({ node, count: Number((await node.query(sql))[0]?.count) })),
    )
    return used.toSorted((a, b) => b.count - a.count)[0]?.node ?? assert.fail()
  }

  const stop = (how: 'clean' | 'kill'): ChaosEvent => ({
    name: how === 'kill' ? 'kill -9 of the node' : 'clean stop of the node',
    run: async () => {
      const node = await inUse()
      await node.stop(how)
      await setTimeout(DOWN)
      await node.start()
      await whole()
    },
  })

  const freeze: ChaosEvent = {
    name: 'freeze of the node',
    run: async () => {
      const node = await inUse()
      node.freeze()
      await setTimeout(FREEZE)
      node.thaw()
      await whole()
    },
  }

  for (const [way, dbUrl] of [
    ['HAProxy', () => undefined],
    ['several hosts', () => severalHosts(nodes.map(({ host, port }) => `${host}:${port}`))],
  ] as const) {
    for (const [title, events] of Object.entries({
      kills: repeat(KILLS, () => stop('kill')),
      'clean stops': repeat(STOPS, () => stop('clean')),
      freezes: repeat(FREEZES, () => freeze),
    }))
      it(`${title} of the node in use, by ${way}`, options, (t) =>
        surviveChaos(t, { databases, dbUrl: dbUrl(), events }),
      )
  }
})

/** A node with a check that says by HTTP whether it can be used: it has everything that was written. */
async function checked(started: AsyncDisposableStack, node: GaleraNode) {
  const server = createServer((_request, response) => {
    node.catchUp().then(
      () => response.end(),
      () => response.writeHead(503).end(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  started.defer(() => server.close().closeAllConnections())
  return { address: `${node.host}:${node.port}`, checkPort: (server.address() as AddressInfo).port }
}
