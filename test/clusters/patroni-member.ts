import { globSync, readFileSync } from 'node:fs'
import { running, signalAll } from '../support/process-tree.ts'
import { findCommand } from '../support/program.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'

export const PATRONI = findCommand(['patroni'])
/** Where Debian puts PostgreSQL. The one from npm lacks the commands that copy a server. */
export const BINARIES = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1)

/** Who has not been heard of for so long is no primary any more, in seconds. */
const TTL = 6

/** What of a member is killed: the postmaster, its Patroni, or both with every process of theirs. */
export type Killed = 'postmaster' | 'patroni' | 'member'

/** What its Patroni says of a server: who follows it. */
interface Status {
  readonly replication?: readonly { application_name: string; state: string; sync_state: string }[]
}

export type PatroniMember = ReturnType<typeof makeMember>

/** A member of a cluster, which `start` starts. */
export function makeMember(
  host: string,
  port: number,
  apiPort: number,
  etcd: string,
  passwords: Record<'superuser' | 'replication', string>,
) {
  if (PATRONI === undefined || BINARIES === undefined) throw new Error('there is no Patroni or PostgreSQL')
  const name = `member${host.at(-1)}`
  const address = `${host}:${port}`
  const api = `http://${host}:${apiPort}`
  const directory = new ServerDirectory(memoryDirectory())
  const configuration = {
    scope: 'books',
    name,
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
      listen: address,
      connect_address: address,
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
  const patroni = new ServerProcess({
    file: PATRONI,
    // JSON is YAML.
    args: [directory.write('patroni.yml', JSON.stringify(configuration))],
    ready: /I am \(\w+\), (?:the leader with the lock|a secondary, and following)/,
    directory,
    env: { HOME: directory.path },
  })

  /** @returns undefined if it does not answer. */
  const ask = (path: string) =>
    fetch(api + path, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
  const ended = (pids: readonly number[]) =>
    until(`no processes of ${name}`, () => running(pids).length === 0)
  const freeze = () => {
    // Twice, because some may have been started while the others were listed.
    for (let i = 0; i < 2; i++) signalAll(directory.processes(), 'SIGSTOP')
  }

  return {
    name,
    /** `host:port`. */
    address,
    apiPort,

    /** Starts its Patroni, which starts PostgreSQL. */
    start: () => patroni.start(),

    async kill(what: Killed): Promise<void> {
      if (what === 'patroni') return patroni.kill()
      if (what === 'member') freeze()
      const all = directory.processes(what === 'member' ? '' : 'data')
      const postmaster = readFileSync(directory.join('data/postmaster.pid'), 'utf8').split('\n', 1)
      signalAll(what === 'member' ? all : postmaster.map(Number), 'SIGKILL')
      // Without the postmaster, its other processes end by themselves.
      await ended(all)
    },

    freeze,

    thaw: () => signalAll(directory.processes(), 'SIGCONT'),

    async remove(): Promise<void> {
      await patroni.kill()
      // This way PostgreSQL leaves nothing behind in the system.
      const rest = directory.processes()
      signalAll(rest, 'SIGQUIT')
      signalAll(rest, 'SIGCONT')
      await ended(rest)
      directory.remove()
    },

    is: async (role: '/primary' | '/synchronous') => (await ask(role))?.ok === true,

    /** Those who follow it now. */
    async streaming() {
      const response = await ask('/patroni')
      const status = (await response?.json().catch(() => undefined)) as Status | undefined
      return (status?.replication ?? []).filter(({ state }) => state === 'streaming')
    },

    /** Makes its synchronous standby the primary instead of it, as an administrator does. */
    async switchOver(): Promise<void> {
      const response = await fetch(`${api}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: name }),
      })
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    },
  }
}
