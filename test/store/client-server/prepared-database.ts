import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import type { Store } from '../../../src/catalogue/store.ts'
import type { Databases, Row, ServerEngine } from '../../support/database-server.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { openPatiently, TIMEOUT } from '../new-database.ts'

/** Describes what is the same on both servers. */
export function onServers(
  what: string,
  define: (engine: ServerEngine, databases: () => Promise<Databases>) => void,
): void {
  for (const engine of ['postgres', 'mysql'] as const)
    describe(`${what}, on ${engine}`, { skip: engineMissing(engine) }, () =>
      define(engine, useDatabases(engine)),
    )
}

/** A database of a test, in which an administrator may do anything. */
export interface PreparedDatabase {
  readonly url: string
  /** Runs statements as the administrator, one by one. */
  run(...statements: readonly string[]): Promise<void>
  /** Runs a statement as the administrator. */
  query(sql: string): Promise<Row[]>
  /** Opens a store, which is closed when the test ends. @param connections the most that it may have. */
  open(connections?: number, timeout?: number): Promise<Store>
  /** What the stores have told the operator, apart from what depends on how busy the machine is. */
  readonly reports: string[]
}

/**
 * A new database until the end of the test.
 * @param statements what the administrator does there before; the name is that of the database and of its user.
 */
export async function prepareDatabase(
  t: TestContext,
  databases: () => Promise<Databases>,
  statements: (name: string) => readonly string[] = () => [],
): Promise<PreparedDatabase> {
  const on = await databases()
  const url = await on.createDatabase()
  const stores: Store[] = []
  t.after(async () => {
    // First, because a store without its database would try again until its deadline.
    await Promise.all(stores.map((store) => store.close()))
    await on.dropDatabase(url)
  })
  const run = async (...all: readonly string[]) => {
    for (const sql of all) await on.query(sql, url)
  }
  await run(...statements(nameIn(url)))
  const reports: string[] = []
  const open = async (connections = 4, timeout = TIMEOUT) => {
    const report = (message: string) => {
      if (!message.startsWith('adding indexes')) reports.push(message)
    }
    const store = await openPatiently(url, { connections, report, timeout })
    stores.push(store)
    return store
  }
  return { url, run, query: (sql) => on.query(sql, url), open, reports }
}

/** Finds the statements that wait for the lock of a book. */
export const WAITING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  // The server does not tell apart waiting for a row from reading it.
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE'`,
}

/** Finds the statements that wait until others no longer use a table. */
export const WAITING_FOR_TABLE = {
  postgres: WAITING.postgres,
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE db = DATABASE() AND state = 'Waiting for table metadata lock'`,
}

/** Returns once a statement has waited for a table and has given up, so that others can go on. */
export async function untilGivenUp(engine: ServerEngine, query: PreparedDatabase['query']): Promise<void> {
  const isWaiting = async () => (await query(WAITING_FOR_TABLE[engine])).length > 0
  await until('it waits for the table', isWaiting)
  await until('it makes room for others', async () => !(await isWaiting()))
}

/** @returns what the refusal says. */
export const refusal = (open: () => Promise<Store>): Promise<string> =>
  open().then(
    () => assert.fail('the store was opened'),
    (error: Error) => error.message,
  )
