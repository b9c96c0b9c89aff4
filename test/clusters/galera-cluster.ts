import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { DatabaseServer } from '../support/database-server.ts'
import { databasesAt } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import {
  administratorUrl,
  argumentsOf,
  commonSettings,
  findMariadb,
  initialize,
  writeAdministrator,
} from '../support/mariadb-server.ts'
import { memoryDirectory, ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'

/** Where distributions put the library. */
const LIBRARY = ['/usr/lib/galera', '/usr/lib64/galera-4', '/usr/lib64/galera']
  .map((directory) => `${directory}/libgalera_smm.so`)
  .find((path) => existsSync(path))

/** Why tests on a Galera cluster are skipped, or false. Where GALERA is `required`, they fail without it instead. */
export const galeraMissing = process.env.GALERA === 'required' ? false : findMissing()

function findMissing(): string | false {
  if (findMariadb() === undefined) return 'no MariaDB: install mariadb-server-core'
  return LIBRARY === undefined ? 'no Galera: install galera-4' : false
}

/**
 * Transfers state to a node that joins. Every node begins with a copy of the first one's data, so it lacks only the
 * last transactions, which Galera sends itself: the script tells it from where on. The scripts of Debian that can
 * send all data are in its package mariadb-server, which would run a server of its own.
 */
const STATE_TRANSFER = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    --role) role=$2 ;;
    --address) address=$2 ;;
    --datadir) datadir=$2 ;;
    --gtid) position=$2 ;;
    --bypass) bypass=yes ;;
  esac
  shift
done
if [ "$role" = joiner ]; then
  pipe=\${datadir%/}.position
  rm -f "$pipe"
  mkfifo "$pipe"
  echo "ready $pipe"
  cat "$pipe"
else
  # Otherwise the node needs all data.
  [ "$bypass" = yes ] || exit 1
  echo continue
  echo "$position" > "$address"
  echo "done $position"
fi
`

/** MariaDB looks for the command wsrep_sst_METHOD. */
const METHOD = 'from_copy'

/** A node that is started again is sent the transactions that it lacks. */
export interface GaleraNode extends Omit<DatabaseServer, 'directory' | 'socket' | 'caFile' | 'stop'> {
  /** @returns the URL on this node of a database that was made on any. */
  at(url: string): string
  /** @returns when the node has every write that was answered before on any node. */
  catchUp(): Promise<void>
  stop(how: 'clean' | 'kill'): Promise<void>
}

type Node = ReturnType<typeof makeNode>

/**
 * Starts three servers of MariaDB on 127.0.0.1 that Galera keeps alike: a write on one is on all. Their data is in memory
 * where there is room.
 * @throws Error if Galera is not installed, or with the log of a node that does not start.
 */
export async function startGalera(): Promise<GaleraNode[]> {
  const ports = new Set<number>()
  while (ports.size < 9) ports.add(await freePort())
  const [a = 0, b = 0, c = 0, ...others] = ports
  const cluster = [a, b, c].map((port) => `127.0.0.1:${port}`)
  const nodes = cluster.map((address) => makeNode(address, cluster, others.splice(-2)))
  const password = randomBytes(12).toString('hex')
  await startAll(nodes, password)
  return nodes.map((node) => inUse(node, password))
}

/**
 * @param address where it talks to the others, one of those of the cluster.
 * @param ports for clients, and for a node that sends it the transactions that it lacks.
 */
function makeNode(address: string, cluster: readonly string[], [port = 0, transferPort = 0]: number[]) {
  const file = findMariadb()
  if (file === undefined || LIBRARY === undefined) throw new Error(`there is ${findMissing()}`)
  const directory = new ServerDirectory(memoryDirectory())
  directory.write(`wsrep_sst_${METHOD}`, STATE_TRANSFER, 0o700)
  const provider = {
    'gmcast.listen_addr': `tcp://${address}`,
    'ist.recv_addr': `127.0.0.1:${transferPort}`,
    // What a node misses while it is frozen for 40 seconds under load.
    'gcache.size': '128M',
    // By default the others wait for 5 seconds before they go on without a node.
    'evs.keepalive_period': 'PT0.5S',
    'evs.inactive_check_period': 'PT0.3S',
    'evs.suspect_timeout': 'PT2S',
    'evs.inactive_timeout': 'PT5S',
    'evs.install_timeout': 'PT5S',
  }
  const args = argumentsOf({
    ...commonSettings(directory, port),
    'max-connections': '300',
    'innodb-buffer-pool-size': '32M',
    'innodb-log-file-size': '16M',
    'innodb-flush-log-at-trx-commit': '0',
    // Galera needs these two.
    'binlog-format': 'ROW',
    'innodb-autoinc-lock-mode': '2',
    'wsrep-provider': LIBRARY,
    'wsrep-cluster-address': `gcomm://${cluster.join()}`,
    'wsrep-node-address': address,
    'wsrep-sst-method': METHOD,
    'wsrep-provider-options': Object.entries(provider)
      .map(([name, value]) => `${name}=${value}`)
      .join(';'),
    // A service may use several nodes at once, while connections move to another.
    'wsrep-sync-wait': '7',
  })
  const server = new ServerProcess({
    file,
    // Not while its data directory is made.
    args: [...args, '--wsrep-on=ON'],
    // In either order.
    ready: /^(?=.*: ready for connections)(?=.*Synchronized with group)/s,
    directory,
    env: { PATH: `${directory.path}:${process.env.PATH}` },
  })
  return { file, args, directory, port, server }
}

async function startAll([first, ...others]: readonly Node[], password: string): Promise<void> {
  if (first === undefined) return
  await initialize(first.file, first.args, first.directory)
  const administrator = writeAdministrator(first.directory, password)
  await first.server.start('--wsrep-new-cluster', `--init-file=${administrator}`)
  await first.server.end('SIGTERM')
  for (const { directory } of others) await directory.run('cp', ['-r', first.directory.join('data'), '.'])
  await first.server.start('--wsrep-new-cluster')
  // One after the other: those that join at the same moment wait for each other, for seconds.
  for (const { server } of others) await server.start()
}

/** Finds out, as mysqld_safe does, which transaction a node has last. @returns the argument that tells the node. */
async function startPosition({ file, args, directory }: Node): Promise<string> {
  const found = /.*WSREP: Recovered position: (\S+)/s
  const command = [...args, '--wsrep-on=ON', '--wsrep-recover']
  const recovery = await ServerProcess.started({ file, args: command, ready: found, directory })
  // MariaDB 10.11 sometimes does not end by itself then, but takes all memory of the machine.
  await recovery.kill()
  return `--wsrep-start-position=${found.exec(recovery.log())?.[1]}`
}

function inUse(node: Node, password: string): GaleraNode {
  const { port, server } = node
  const databases = databasesAt(administratorUrl(password, port))
  return {
    ...databases,
    ...server.controls(),
    at: (text) => Object.assign(new URL(text), { port }).href,
    catchUp: async () => void (await databases.query('SET STATEMENT wsrep_sync_wait = 1 FOR SELECT 1')),
    stop: (how) => (how === 'kill' ? server.kill() : server.end('SIGTERM')),
    start: async () => server.start(await startPosition(node)),
  }
}
