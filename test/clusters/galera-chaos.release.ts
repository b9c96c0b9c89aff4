import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { until } from '../faults/engine-servers.ts'
import { engineMissing } from '../support/engines.ts'
import { type ChaosEvent, isFull, repeat, severalHosts, surviveChaos } from './chaos.ts'
import { type GaleraNode, galeraMissing, startGalera } from './galera-cluster.ts'

/** How often each happens. */
const [KILLS, STOPS, FREEZES] = isFull ? [20, 5, 5] : [2, 1, 1]

/** How long a node is down, and how long one stands still; milliseconds. */
const [DOWN, FREEZE] = [4000, isFull ? 40_000 : 10_000]

const options = { timeout: isFull ? 3_600_000 : 180_000 }

describe('a Galera cluster under load', {
  skip: engineMissing('mysql') || galeraMissing,
}, () => {
  let nodes: readonly GaleraNode[] = []
  before(async () => {
    // A service may use several nodes at once, while connections move to another.
    const settings = { 'wsrep-sync-wait': '7' }
    // By default the others wait for 5 seconds before they go on without a node.
    nodes = await startGalera(settings, {
      'evs.keepalive_period': 'PT0.5S',
      'evs.inactive_check_period': 'PT0.3S',
      'evs.suspect_timeout': 'PT2S',
      'evs.inactive_timeout': 'PT5S',
      'evs.install_timeout': 'PT5S',
    })
  }, options)
  after(() => Promise.all(nodes.map((node) => node.remove())))

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

  for (const [title, events] of Object.entries({
    kills: repeat(KILLS, () => stop('kill')),
    'clean stops': repeat(STOPS, () => stop('clean')),
    freezes: repeat(FREEZES, () => freeze),
  }))
    it(`${title} of the node in use`, options, (t) => {
      const [databases = assert.fail()] = nodes
      const dbUrl = severalHosts(nodes.map(({ host, port }) => `${host}:${port}`))
      return surviveChaos(t, { databases, dbUrl, events })
    })
})
