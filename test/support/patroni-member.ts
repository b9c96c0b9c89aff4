import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { running, signalAll } from './process-tree.ts'
import { findCommand } from './program.ts'
import { memoryDirectory, ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

export const PATRONI = findCommand(['patroni'])
/** Where Debian puts PostgreSQL. The one from npm lacks the commands that copy a server. */
export const BINARIES = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1)

/** Who has not been heard of for so long is no primary any more, in seconds. */
const TTL = 6

/** How long the cluster may take to become whole, in milliseconds. */
const PATIENCE = 90_000

/** What of a member is killed: the postmaster, its Patroni, or both with every process of theirs. */
export type Killed = 'postmaster' | 'patroni' | 'member'

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
    if (PATRONI === undefined || BINARIES === undefined) throw new Error('there is no Patroni or PostgreSQL')
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

/** Asks again and again for something that the cluster comes to. @param what names it. */
export async function waitFor<Result>(
  what: string,
  find: () => Promise<Result | undefined>,
): Promise<Result> {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`the cluster has not got within ${PATIENCE} ms: ${what}`)
    await setTimeout(50)
  }
}
