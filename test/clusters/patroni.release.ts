import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { temporaryDirectory } from '../support/service.ts'
import { type ChaosEvent, isFull, type Row, repeat, severalHosts, surviveChaos } from './chaos.ts'
import { type PatroniCluster, patroniMissing, startPatroni } from './patroni-cluster.ts'
import type { Killed } from './patroni-member.ts'

/** How often each happens. */
const [KILLS, SWITCHOVERS, FREEZES] = isFull ? [20, 10, 5] : [3, 1, 1]

/** How long a member stands still, in milliseconds: long enough that another becomes the primary. */
const FREEZE = isFull ? 40_000 : 15_000

/** How often it is looked where a name has to lead to, in milliseconds. */
const FOLLOW = 200

/** Lets a process find names in a file of its own instead of /etc/hosts (cwrap.org). */
const NAMES = globSync('/usr/lib/*/libnss_wrapper.so').at(0)

const namesMissing =
  NAMES === undefined && process.env.CLUSTERS !== 'required' && 'no names that move: install libnss-wrapper'

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

  it('kills and switchovers, by a name that moves to the primary', {
    ...options,
    skip: namesMissing,
  }, async (t) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const file = join(directory.path, 'hosts')
    const move = async () => writeFileSync(file, `${(await cluster.primary()).host} database.test\n`)
    const followed = ({ name, run }: ChaosEvent): ChaosEvent => ({
      name,
      run: async () => {
        const over = run().then(() => true)
        while (!(await Promise.race([over, setTimeout(FOLLOW)]))) await move()
      },
    })
    await move()
    const port = cluster.members[0]?.address.split(':')[1]
    await surviveChaos(t, {
      databases: cluster.databases,
      dbUrl: severalHosts([`database.test:${port}`]),
      settings: { LD_PRELOAD: NAMES ?? '', NSS_WRAPPER_HOSTS: file },
      events: repeat(2 * SWITCHOVERS, (i) => followed(i % 2 === 0 ? kill('member') : switchover)),
    })
  })
})
