import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type ChaosEvent, isFull, type Row, repeat, severalHosts, surviveChaos } from './chaos.ts'
import { type PatroniCluster, patroniMissing, startPatroni } from './patroni-cluster.ts'
import type { Killed } from './patroni-member.ts'

/** How often each happens. */
const [KILLS, SWITCHOVERS, FREEZES] = isFull ? [20, 10, 5] : [3, 1, 1]

/** How long a member stands still, in milliseconds: long enough that another becomes the primary. */
const FREEZE = isFull ? 40_000 : 15_000

const options = { timeout: isFull ? 3_600_000 : 180_000 }

describe('a Patroni cluster under load', { skip: patroniMissing }, () => {
  let cluster: PatroniCluster
  before(async () => {
    cluster = await startPatroni()
  }, options)
  after(async () => {
    await cluster?.remove()
  })

  const kill = (what: Killed): ChaosEvent => ({
    name: `kill -9 of the ${what}`,
    run: async () => {
      const { primary } = await cluster.whole()
      await primary.kill(what)
      // Patroni starts its postmaster again.
      if (what !== 'postmaster') {
        await cluster.primary(primary)
        await primary.start()
      }
      await cluster.whole()
    },
  })

  const switchover: ChaosEvent = {
    name: 'switchover',
    run: async () => {
      const { primary } = await cluster.whole()
      await primary.switchOver()
      await cluster.primary(primary)
      await cluster.whole()
    },
  }

  const freeze = (who: 'primary' | 'synchronous'): ChaosEvent => ({
    name: `freeze of the ${who}`,
    run: async () => {
      const member = (await cluster.whole())[who]
      member.freeze()
      await setTimeout(FREEZE)
      member.thaw()
      await cluster.whole()
    },
  })

  const hosts = () =>
    severalHosts(
      cluster.members.map(({ address }) => address),
      '?target_session_attrs=read-write',
    )
  const ways = [
    { name: 'HAProxy', dbUrl: () => undefined, kills: ['postmaster', 'patroni', 'member'] },
    // Without its Patroni, and with nobody in between, an old primary would be used as long as it runs.
    { name: 'several hosts', dbUrl: hosts, kills: ['postmaster', 'member'] },
  ] as const

  for (const { name, dbUrl, kills } of ways) {
    const rows: Record<string, Omit<Row, 'databases' | 'dbUrl'>> = {
      'kills of the primary': { events: repeat(KILLS, (i) => kill(kills[i % kills.length] ?? 'member')) },
      // A write whose commit is cut off must not be repeated; there is one of each writer.
      switchovers: { events: repeat(SWITCHOVERS, () => switchover), mayBeRefused: 10 },
      'freezes of the primary': { events: repeat(FREEZES, () => freeze('primary')) },
      'freezes of the synchronous standby, with more writers than connections': {
        events: repeat(FREEZES, () => freeze('synchronous')),
        writers: 40,
        readsGoOn: true,
      },
    }
    for (const [title, row] of Object.entries(rows))
      it(`${title}, by ${name}`, options, (t) =>
        surviveChaos(t, { databases: cluster.databases, dbUrl: dbUrl(), ...row }),
      )
  }
})
