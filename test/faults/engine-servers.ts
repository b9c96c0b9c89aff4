import assert from 'node:assert/strict'
import { after, before, describe, type TestContext } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import type { DatabaseServer, Databases, ServerEngine, ServerOptions } from '../support/database-server.ts'
import { nameIn } from '../support/database-url.ts'
import { engineMissing } from '../support/engines.ts'
import { findMariadb, startMariadb } from '../support/mariadb-server.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { until } from '../support/until.ts'

export { openSession, type Session } from '../support/databases.ts'
export { until } from '../support/until.ts'

export const SERVER_ENGINES: readonly ServerEngine[] = ['postgres', 'mysql']

/** Why there is no server of this engine to stop and to freeze, or false if there is. */
export function serverMissing(engine: ServerEngine): string | false {
  const missing = engineMissing(engine)
  // One that runs elsewhere is no help. Where ENGINES requires it, it fails to start.
  const isRequired = process.env.ENGINES !== undefined
  if (missing !== false || engine !== 'mysql' || isRequired || findMariadb() !== undefined) return missing
  return 'no MariaDB or MySQL to start: install one'
}

/** Starts a server of its own. */
export function startServer(engine: ServerEngine, options: ServerOptions = {}): Promise<DatabaseServer> {
  return engine === 'postgres' ? startPostgres(options) : startMariadb(options)
}

/**
 * Tests for each engine that is a server, on a server of their own: it is there as long as they run.
 * @param options whether all tests run at the same time, if they mostly wait and need no server for themselves.
 */
export function onEachServer(
  name: string,
  define: (server: () => DatabaseServer, engine: ServerEngine) => void,
  { concurrency = false } = {},
): void {
  describe(name, { concurrency }, () => {
    for (const engine of SERVER_ENGINES) {
      describe(engine, { skip: serverMissing(engine), concurrency }, () => {
        let server: DatabaseServer | undefined
        before(async () => {
          server = await startServer(engine)
        })
        after(() => server?.remove())
        define(() => server ?? assert.fail('the server does not run'), engine)
      })
    }
  })
}

/** Starts the service on a database until the end of the test. */
export async function serve(t: TestContext, DB_URL: string, settings: object = {}): Promise<Service> {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const service = await startService(directory.path, { DB_URL, ...settings })
  t.after(() => service.stop('SIGKILL'))
  return service
}

/** All books that a database holds, as the server itself says. */
export async function readRows(server: Databases, url: string): Promise<Book[]> {
  const rows = await server.query('SELECT id, title, author, year FROM books ORDER BY id', url)
  return rows.map((row) => ({ ...(row as unknown as Book), id: Number(row.id), year: Number(row.year) }))
}

/** The ids of the connections that the user of a database has, as the server counts them. */
async function connections(server: Databases, url: string): Promise<number[]> {
  const rows = await server.query(
    server.engine === 'postgres'
      ? `SELECT pid AS id FROM pg_stat_activity WHERE usename = '${nameIn(url)}'`
      : `SELECT id FROM information_schema.processlist WHERE user = '${nameIn(url)}'`,
  )
  return rows.map(({ id }) => Number(id))
}

/** Kills all connections of a database, as an administrator does. @returns how many there were. */
export async function killConnections(server: Databases, url: string): Promise<number> {
  const open = await connections(server, url)
  for (const id of open)
    if (server.engine === 'postgres') await server.query(`SELECT pg_terminate_backend(${id})`)
    // It may have ended since, which only MySQL calls an error.
    else await server.query(`KILL ${id}`).catch(() => {})
  return open.length
}

/** Waits until a database has no connection. */
export const untilUnused = (server: Databases, url: string) =>
  until('no connection is left', async () => (await connections(server, url)).length === 0)

/** The URL of a database for the administrator. */
export function asAdministrator(server: Databases, url: string): string {
  return Object.assign(new URL(server.url), { pathname: nameIn(url) }).href
}
