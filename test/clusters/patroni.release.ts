import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { MovingName, namesMissing } from '../support/moving-name.ts'
import { type Killed, type PatroniCluster, patroniMissing, startPatroni } from '../support/patroni-cluster.ts'
import { printTable } from '../support/table.ts'
import { type ChaosEvent, direct, isFull, type Row, severalHosts, surviveChaos, table } from './chaos.ts'
import { hostsMissing } from './hosts.ts'

/** How often each happens. */
const [KILLS, SWITCHOVERS, FREEZES] = isFull ? [20, 10, 5] : [3, 1, 1]

/** How long a member stands still, in milliseconds: long enough that another becomes the primary. */
const FREEZE = isFull ? 40_000 : 15_000

/** How often it is looked where a name has to lead to, in milliseconds. */
const FOLLOW = 200

const options = { timeout: isFull ? 3_600_000 : 180_000 }

describe('a Patroni cluster under load', { skip: patroniMissing }, () => {
  let cluster: PatroniCluster
  before(async () => {
    cluster = await startPatroni()
  }, options)
  after(async () => {
    printTable(table)
    await cluster?.remove()
  })

  const repeat = (times: number, event: (i: number) => ChaosEvent) =>
    Array.from({ length: times }, (_, i) => event(i))

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
      await cluster.switchOver()
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
    { name: 'HAProxy', way: () => direct, skip: false, kills: ['postmaster', 'patroni', 'member'] },
    // Without its Patroni, and with nobody in between, an old primary would be used as long as it runs.
    { name: 'several hosts', way: hosts, skip: hostsMissing('postgres'), kills: ['postmaster', 'member'] },
  ] as const

  for (const { name, way, skip, kills } of ways) {
    const row = (title: string, make: () => Omit<Row, 'databases' | 'way'>) =>
      it(`${title}, by ${name}`, { ...options, skip }, (t) =>
        surviveChaos(t, { databases: cluster.databases, way: way(), ...make() }),
      )

    row('kills of the primary', () => ({
      events: repeat(KILLS, (i) => kill(kills[i % kills.length] ?? 'member')),
    }))
    row('switchovers', () => ({ events: repeat(SWITCHOVERS, () => switchover), mayBeRefused: 1 }))
    row('switchovers, with STORE_TIMEOUT=10', () => ({
      events: repeat(SWITCHOVERS, () => switchover),
      storeTimeout: 10,
      // A write whose commit is cut off must not be repeated.
      mayBeRefused: 1,
    }))
    row('freezes of the primary', () => ({ events: repeat(FREEZES, () => freeze('primary')) }))
    row('freezes of the synchronous standby, with more writers than connections', () => ({
      events: repeat(FREEZES, () => freeze('synchronous')),
      writers: 40,
      readsGoOn: 0.8,
    }))
  }

  it('kills and switchovers, by a name that moves to the primary', {
    ...options,
    skip: namesMissing,
  }, async (t) => {
    using name = new MovingName()
    const followed = (event: ChaosEvent): ChaosEvent => ({
      name: event.name,
      run: async () => {
        const over = event.run().then(() => true)
        while (!(await Promise.race([over, setTimeout(FOLLOW)]))) name.move((await cluster.primary()).host)
      },
    })
    name.move((await cluster.primary()).host)
    const at = (url: string, host: string) =>
      url.replace(/(?<=@)[^/]*/, (cluster.members[0]?.address ?? '').replace(/^[^:]*/, host))
    await surviveChaos(t, {
      databases: cluster.databases,
      way: {
        dbUrl: (url) => at(url, name.name),
        targets: (url) => [at(url, name.address)],
        settings: name.settings,
      },
      events: repeat(2 * SWITCHOVERS, (i) => followed(i % 2 === 0 ? kill('member') : switchover)),
    })
  })
})
