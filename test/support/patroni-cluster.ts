import { randomBytes } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Databases } from './database-server.ts'
import { databasesAt } from './databases.ts'
import { freePort } from './free-port.ts'
import { haproxyMissing, startHaproxy } from './haproxy.ts'
import { running, signalAll } from './process-tree.ts'
import { findCommand } from './program.ts'
import { memoryDirectory, ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

const PATRONI = findCommand(['patroni'])
const ETCD = findCommand(['etcd'])
/** Where Debian puts PostgreSQL. The one from npm lacks the commands that copy a server. */
const BINARIES = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1)

/** Why tests with Patroni are skipped, or false. Where CLUSTERS is `required`, they fail without it instead. */
export const patroniMissing = process.env.CLUSTERS === 'required' ? false : findMissing()

function findMissing(): string | false {
  if (PATRONI === undefined) return 'no patroni: install patroni and python3-etcd'
  if (ETCD === undefined) return 'no etcd: install etcd-server'
  return BINARIES === undefined ? 'no PostgreSQL of Debian: install postgresql' : haproxyMissing
}

/** Who has not been heard of for so long is no primary any more, in seconds. */
const TTL = 6

/** How long the cluster may take to become whole, in milliseconds. */
const PATIENCE = 90_000

/** What of a member is killed: the postmaster, its Patroni, or both with every process of theirs. */
export type Killed = 'postmaster' | 'patroni' | 'member'

/** Three servers of PostgreSQL, of which Patroni makes one the primary and another its synchronous standby. */
export interface PatroniCluster {
  readonly members: readonly PatroniMember[]
  /** The primary through HAProxy. */
  readonly databases: Databases
  /** Waits until there is a primary with two standbys. */
  whole(): Promise<{ primary: PatroniMember; synchronous: PatroniMember }>
  /** Waits until a member is the primary, and another one than this. @returns it. */
  primary(otherThan?: PatroniMember): Promise<PatroniMember>
  /** Makes the synchronous standby the primary, as an administrator does. @returns the new primary. */
  switchOver(): Promise<PatroniMember>
  remove(): Promise<void>
}

/**
 * Starts a cluster on 127.0.0.1. Its data is in memory where there is room.
 * @throws Error if something is not installed, or with the log of what does not start.
 */
export async function startPatroni(): Promise<PatroniCluster> {
  await using started = new AsyncDisposableStack()
  const { address: etcd, server } = await startEtcd()
  started.defer(() => server.remove())
  const passwords = { superuser: newPassword(), replication: newPassword() }
  const members: PatroniMember[] = []
  // The same port on addresses of their own, so that a name can move from one to another.
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const port = await freePort(...hosts)
  for (const host of hosts) {
    const member = new PatroniMember(host, port, await freePort(host), etcd, passwords)
    started.defer(() => member.remove())
    members.push(member)
  }
  const [first, ...others] = members
  await first?.start()
  await Promise.all(others.map((member) => member.start()))
  const upstreams = members.map(({ address, apiPort }) => ({ address, checkPort: apiPort }))
  const haproxy = await startHaproxy('OPTIONS /primary', upstreams)
  started.defer(() => haproxy.remove())

  const whole = () =>
    waitFor('a primary with two standbys', async () => {
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
  const primary = (otherThan?: PatroniMember) =>
    waitFor('a primary', async () => {
      for (const member of members) if (member !== otherThan && (await member.is('/primary'))) return member
      return undefined
    })
  await whole()
  const running = started.move()
  return {
    members,
    databases: databasesAt(`postgres://postgres:${passwords.superuser}@127.0.0.1:${haproxy.port}/postgres`),
    whole,
    primary,
    switchOver: async () => {
      const { primary: old } = await whole()
      await old.post('/switchover', { leader: old.name })
      return primary(old)
    },
    remove: () => running.disposeAsync(),
  }
}

const newPassword = () => randomBytes(12).toString('hex')

async function waitFor<Result>(what: string, find: () => Promise<Result | undefined>): Promise<Result> {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`the cluster has not got within ${PATIENCE} ms: ${what}`)
    await setTimeout(50)
  }
}

async function startEtcd() {
  if (ETCD === undefined) throw new Error(`there is ${findMissing()}`)
  const directory = new ServerDirectory(memoryDirectory())
  const [address, peers] = [`127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const server = new ServerProcess({
    file: ETCD,
    args: [
      ...['--data-dir', directory.join('data'), '--enable-v2=true', '--logger=zap'],
      ...['--listen-client-urls', `http://${address}`, '--advertise-client-urls', `http://${address}`],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
      ...['--initial-cluster', `default=${peers}`],
    ],
    ready: /serving client traffic/,
    directory,
    quit: 'SIGKILL',
  })
  await server.start()
  return { address, server }
}

/** Who follows a server, as its Patroni says. */
type Followers = readonly { application_name: string; state: string; sync_state: string }[]

export class PatroniMember {
  readonly name: string
  readonly host: string
  /** `host:port`. */
  readonly address: string
  readonly apiPort: number
  readonly #api: string
  readonly #directory = new ServerDirectory(memoryDirectory())
  readonly #patroni: ServerProcess

  constructor(
    host: string,
    port: number,
    apiPort: number,
    etcd: string,
    passwords: Record<'superuser' | 'replication', string>,
  ) {
    if (PATRONI === undefined || BINARIES === undefined) throw new Error(`there is ${findMissing()}`)
    this.name = `member${host.at(-1)}`
    this.host = host
    this.address = `${host}:${port}`
    this.apiPort = apiPort
    this.#api = `http://${host}:${apiPort}`
    const directory = this.#directory
    const configuration = {
      scope: 'books',
      name: this.name,
      restapi: { listen: `${host}:${apiPort}`, connect_address: `${host}:${apiPort}` },
      // Version 2 of its protocol: with version 3, this Patroni may have two primaries after a freeze.
      etcd: { host: etcd },
      bootstrap: {
        dcs: {
          ...{ ttl: TTL, loop_wait: 1, retry_timeout: 2, synchronous_mode: true },
          postgresql: {
            use_pg_rewind: true,
            // No test loses the power, and files of shared memory would stay behind after a kill.
            parameters: { max_connections: 300, fsync: 'off', dynamic_shared_memory_type: 'mmap' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'no-sync'],
      },
      postgresql: {
        listen: this.address,
        connect_address: this.address,
        data_dir: directory.join('data'),
        bin_dir: BINARIES,
        pgpass: directory.join('pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: passwords.superuser },
          replication: { username: 'replicator', password: passwords.replication },
        },
        parameters: { unix_socket_directories: directory.path },
        pg_hba: [
          'local all all scram-sha-256',
          'host all all 127.0.0.0/8 scram-sha-256',
          'host replication replicator 127.0.0.0/8 scram-sha-256',
        ],
      },
      watchdog: { mode: 'off' },
    }
    // JSON is YAML.
    writeFileSync(directory.join('patroni.yml'), JSON.stringify(configuration), { mode: 0o600 })
    directory.give('patroni.yml')
    this.#patroni = new ServerProcess({
      file: PATRONI,
      args: [directory.join('patroni.yml')],
      ready: /I am \(\w+\), (?:the leader with the lock|a secondary, and following)/,
      directory,
      quit: 'SIGKILL',
      env: { HOME: directory.path },
    })
  }

  /** Starts its Patroni, which starts PostgreSQL. */
  start(): Promise<void> {
    return this.#patroni.start()
  }

  async kill(what: Killed): Promise<void> {
    if (what === 'patroni') return this.#patroni.kill()
    if (what === 'member') this.freeze()
    const all = this.#directory.processes(what === 'member' ? '' : 'data')
    const postmaster = readFileSync(this.#directory.join('data/postmaster.pid'), 'utf8').split('\n', 1)
    signalAll(what === 'member' ? all : postmaster.map(Number), 'SIGKILL')
    // Without the postmaster, its other processes end by themselves.
    await this.#ended(all)
  }

  freeze(): void {
    // Twice, because some may have been started while the others were listed.
    for (let i = 0; i < 2; i++) signalAll(this.#directory.processes(), 'SIGSTOP')
  }

  thaw(): void {
    signalAll(this.#directory.processes(), 'SIGCONT')
  }

  async remove(): Promise<void> {
    await this.#patroni.kill()
    // This way PostgreSQL leaves nothing behind in the system.
    const rest = this.#directory.processes()
    signalAll(rest, 'SIGQUIT')
    signalAll(rest, 'SIGCONT')
    await this.#ended(rest)
    this.#directory.remove()
  }

  async is(role: '/primary' | '/synchronous'): Promise<boolean> {
    return (await this.#ask(role))?.ok === true
  }

  /** Those who follow it now. */
  async streaming(): Promise<Followers> {
    const response = await this.#ask('/patroni')
    const status = (await response?.json().catch(() => undefined)) as { replication?: Followers } | undefined
    return (status?.replication ?? []).filter(({ state }) => state === 'streaming')
  }

  async post(path: string, body: object): Promise<void> {
    const response = await fetch(this.#api + path, { method: 'POST', body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }

  /** @returns undefined if it does not answer. */
  #ask(path: string): Promise<Response | undefined> {
    return fetch(this.#api + path, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
  }

  async #ended(pids: readonly number[]): Promise<void> {
    await waitFor(`no processes of ${this.name}`, async () => running(pids).length === 0 || undefined)
  }
}
