import { randomBytes } from 'node:crypto'
import { databasesAt } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { haproxyMissing, startHaproxy } from '../support/haproxy.ts'
import { findCommand } from '../support/program.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { BINARIES, makeMember, PATRONI, type PatroniMember } from './patroni-member.ts'

const ETCD = findCommand(['etcd'])

/** Why tests with Patroni are skipped, or false. Where CLUSTERS is `required`, they fail without it instead. */
export const patroniMissing = process.env.CLUSTERS === 'required' ? false : findMissing()

function findMissing(): string | false {
  if (PATRONI === undefined) return 'no patroni: install patroni and python3-etcd'
  if (ETCD === undefined) return 'no etcd: install etcd-server'
  return BINARIES === undefined ? 'no PostgreSQL of Debian: install postgresql' : haproxyMissing
}

export type PatroniCluster = Awaited<ReturnType<typeof startPatroni>>

/**
 * Starts three servers of PostgreSQL on 127.0.0.1, of which Patroni makes one the primary and another its synchronous
 * standby. Their data is in memory where there is room.
 * @throws Error if something is not installed, or with the log of what does not start.
 */
export async function startPatroni() {
  await using started = new AsyncDisposableStack()
  const { address: etcd, server } = await startEtcd()
  started.defer(() => server.remove())
  const passwords = { superuser: newPassword(), replication: newPassword() }
  const members: PatroniMember[] = []
  // The same port on addresses of their own, so that a name can move from one to another.
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const port = await freePort(...hosts)
  for (const host of hosts) {
    const member = makeMember(host, port, await freePort(host), etcd, passwords)
    started.defer(() => member.remove())
    members.push(member)
  }
  const [first, ...others] = members
  await first?.start()
  await Promise.all(others.map((member) => member.start()))
  const upstreams = members.map(({ address, apiPort }) => ({ address, checkPort: apiPort }))
  const haproxy = await startHaproxy('OPTIONS /primary', upstreams)
  started.defer(() => haproxy.remove())

  /** Waits until there is a primary with two standbys. */
  const whole = () =>
    until('a primary with two standbys', async () => {
      for (const primary of members) {
        const streaming = await primary.streaming()
        const name = streaming.find(({ sync_state }) => sync_state === 'sync')?.application_name
        const synchronous = members.find((member) => member.name === name)
        // Patroni keeps in mind who may become the primary a moment after PostgreSQL knows it.
        if (streaming.length === 2 && synchronous && (await synchronous.is('/synchronous')))
          return { primary, synchronous }
      }
      return undefined
    })
  /** Waits until a member is the primary, and another one than this. @returns it. */
  const primary = (otherThan?: PatroniMember) =>
    until('a primary', async () => {
      for (const member of members) if (member !== otherThan && (await member.is('/primary'))) return member
      return undefined
    })
  await whole()
  const running = started.move()
  return {
    members,
    /** The primary through HAProxy. */
    databases: databasesAt(`postgres://postgres:${passwords.superuser}@127.0.0.1:${haproxy.port}/postgres`),
    whole,
    primary,
    remove: () => running.disposeAsync(),
  }
}

const newPassword = () => randomBytes(12).toString('hex')

async function startEtcd() {
  if (ETCD === undefined) throw new Error(`there is ${findMissing()}`)
  const directory = new ServerDirectory(memoryDirectory())
  const [address, peers] = [`127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const server = await ServerProcess.started({
    file: ETCD,
    args: [
      ...['--data-dir', directory.join('data'), '--enable-v2=true', '--logger=zap'],
      ...['--listen-client-urls', `http://${address}`, '--advertise-client-urls', `http://${address}`],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
      ...['--initial-cluster', `default=${peers}`],
    ],
    ready: /serving client traffic/,
    directory,
  })
  return { address, server }
}
