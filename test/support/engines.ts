import { after } from 'node:test'
import type { DatabaseServer, Databases, ServerEngine } from './database-server.ts'
import { databasesAt } from './databases.ts'
import { findMariadb, startMariadb } from './mariadb-server.ts'
import { startPostgres } from './postgres-server.ts'
import { memoryDirectory } from './server-directory.ts'

/** The names for the environment variable ENGINES, a list of those that the tests must run on. */
export const ENGINES = ['sqlite', 'postgres', 'mysql'] as const
export type Engine = (typeof ENGINES)[number]

/** The environment variables with an administrator's URL of a server that runs, for tests to use instead of their own. */
export const SERVER_VARIABLES = { postgres: 'TEST_POSTGRES_URL', mysql: 'TEST_MYSQL_URL' } as const

const named = process.env.ENGINES?.split(',').map((name) => {
  const engine = ENGINES.find((engine) => engine === name.trim())
  if (engine === undefined) throw new Error(`ENGINES names “${name}”; it is a list of ${ENGINES.join(', ')}`)
  return engine
})

/** Why the tests do not run on an engine, or false if they do; then a server that does not start is a failure. */
export function engineMissing(engine: Engine): string | false {
  if (named !== undefined) return named.includes(engine) ? false : `ENGINES does not name ${engine}`
  if (engine !== 'mysql' || process.env[SERVER_VARIABLES.mysql] !== undefined) return false
  return findMariadb() === undefined
    ? 'no MariaDB or MySQL: install one, or name an administrator’s URL in TEST_MYSQL_URL'
    : false
}

/** The server that TEST_POSTGRES_URL or TEST_MYSQL_URL names: somebody's own, or that of the whole test run. */
export function runningServer(engine: ServerEngine): Databases | undefined {
  const url = process.env[SERVER_VARIABLES[engine]]
  return url === undefined ? undefined : databasesAt(url)
}

/** Starts a server for tests that do not care whether their data survives a crash of the system. */
export function startSharedServer(engine: ServerEngine): Promise<DatabaseServer> {
  const directory = memoryDirectory()
  return engine === 'postgres'
    ? startPostgres({ directory, settings: { fsync: 'off', max_wal_size: '256MB', max_connections: '300' } })
    : startMariadb({
        directory,
        settings: { 'innodb-flush-log-at-trx-commit': '0', 'max-connections': '300' },
      })
}

/**
 * To be called at the top of a file, or in a `describe`: gives its tests a server to make databases on. That is the
 * one of the test run; a file that runs alone starts one when it is first asked for.
 */
export function useDatabases(engine: ServerEngine): () => Promise<Databases> {
  let own: Promise<DatabaseServer> | undefined
  after(async () => (await own)?.remove())
  return async () => {
    const running = runningServer(engine)
    if (running !== undefined) return running
    own ??= startSharedServer(engine)
    return own
  }
}
