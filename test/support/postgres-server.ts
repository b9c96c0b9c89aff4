import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCertificates } from './certificates.ts'
import type { DatabaseServer, ServerOptions } from './database-server.ts'
import { freePort } from './free-port.ts'
import { postgresBinaries } from './postgres-binaries.ts'
import { postgresDatabases } from './postgres-databases.ts'
import { runOnce } from './run-once.ts'
import { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

const SUPERUSER = 'postgres'

export interface PostgresOptions extends ServerOptions {
  /** The text of pg_hba.conf; by default everybody needs a password. */
  readonly hba?: string
  /** To be a hot standby of this server, which is stopped for its data to be copied, and started again. */
  readonly standbyOf?: DatabaseServer
}

/**
 * Starts a PostgreSQL of its own on 127.0.0.1, as durable as PostgreSQL is by default.
 * @throws Error with the output of the server if it does not start.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<DatabaseServer> {
  const directory = new ServerDirectory(options.directory)
  try {
    return await startIn(directory, options)
  } catch (error) {
    directory.remove()
    throw error
  }
}

async function startIn(directory: ServerDirectory, options: PostgresOptions): Promise<DatabaseServer> {
  const binaries = postgresBinaries(directory)
  const data = directory.join('data')
  const { standbyOf } = options
  const password = standbyOf ? new URL(standbyOf.url).password : randomBytes(12).toString('hex')
  if (standbyOf) await copyData(standbyOf, directory)
  else await initialize(binaries.initdb, directory, password)
  if (options.hba !== undefined) writeFileSync(join(data, 'pg_hba.conf'), options.hba)
  const certificates = options.tls ? makeCertificates(directory) : undefined
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: directory.path,
    ...(certificates && {
      ssl: 'on',
      ssl_cert_file: certificates.certFile,
      ssl_key_file: certificates.keyFile,
    }),
    ...(standbyOf && { primary_conninfo: standbyOf.url }),
    ...options.settings,
  }
  const server = new ServerProcess({
    file: binaries.postgres,
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ready: /database system is ready to accept (read-only )?connections/,
    directory,
    quit: 'SIGQUIT',
  })
  await server.start()
  const end = {
    clean: () => server.end('SIGINT'),
    immediate: () => server.end('SIGQUIT'),
    kill: () => server.kill(),
  }
  return {
    ...postgresDatabases(`postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`, certificates?.ca),
    directory: directory.path,
    socket: directory.path,
    caFile: certificates?.caFile,
    log: () => server.log(),
    stop: (how) => end[how](),
    start: () => server.start(),
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    remove: () => server.remove(),
  }
}

async function copyData(primary: DatabaseServer, directory: ServerDirectory): Promise<void> {
  await primary.stop('clean')
  await runOnce(directory, 'cp', ['-r', join(primary.directory, 'data'), '.'])
  await primary.start()
  writeFileSync(directory.join('data/standby.signal'), '')
  directory.give('data/standby.signal')
}

async function initialize(initdb: string, directory: ServerDirectory, password: string): Promise<void> {
  writeFileSync(directory.join('password'), password, { mode: 0o600 })
  directory.give('password')
  await runOnce(directory, initdb, [
    ...['-D', directory.join('data'), '-U', SUPERUSER, '--pwfile', directory.join('password')],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions'],
    // In its directory, so that nothing stays behind when it is killed.
    ...['--set', 'dynamic_shared_memory_type=mmap'],
  ])
}
