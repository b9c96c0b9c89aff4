import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseServer, Databases } from '../../test/support/database-server.ts'
import { seededBook, selectBooks } from './books.ts'
import type { Contender, StoreKind } from './contenders.ts'

/** A new place for books, of one start of a contender. */
export interface BookStore {
  /** What the contender is told of it. */
  readonly database: string
  /** The root of the processes of its server, if it has one. */
  readonly serverPid: number | undefined
  /** Fills the table, which the contender has made, with so many books, while nobody uses it. */
  seed(books: number): Promise<void>
  remove(): Promise<void>
}

/** The database servers that run for the whole bench. */
export type Servers = Partial<Record<StoreKind, ServerInUse>>

export interface ServerInUse {
  readonly server: DatabaseServer
  readonly pid: number
}

/**
 * Makes an empty store.
 * @param directory for files.
 * @param books how many it will have, for a contender that is told their number only.
 */
export async function newStore(
  { store }: Contender,
  directory: string,
  books: number,
  servers: Servers,
): Promise<BookStore> {
  if (store === 'none') {
    return { database: String(books), serverPid: undefined, seed: async () => {}, remove: async () => {} }
  }
  if (store === 'sqlite' || store === 'json') return fileStore(store, directory)
  const inUse = servers[store]
  if (inUse === undefined) throw new Error(`there is no ${store} server`)
  return serverStore(inUse)
}

function fileStore(kind: 'sqlite' | 'json', parent: string): BookStore {
  const directory = mkdtempSync(join(parent, 'store-'))
  const file = join(directory, kind === 'sqlite' ? 'books.db' : 'books.json')
  if (kind === 'json') writeFileSync(file, '{"books":[]}')
  return {
    database: file,
    serverPid: undefined,
    seed: async (books) => (kind === 'sqlite' ? seedSqlite(file, books) : seedJson(file, books)),
    remove: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

function seedSqlite(file: string, books: number): void {
  const database = new DatabaseSync(file)
  database.exec(`
    INSERT INTO books (title, author, year)
    WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${books})
    ${selectBooks("'The Left Hand of Darkness ' || n.id", 'n')};
    PRAGMA wal_checkpoint(TRUNCATE)`)
  database.close()
}

function seedJson(file: string, books: number): void {
  writeFileSync(file, JSON.stringify({ books: Array.from({ length: books }, (_, i) => seededBook(i + 1)) }))
}

async function serverStore({ server, pid }: ServerInUse): Promise<BookStore> {
  const database = await server.createDatabase()
  return {
    database,
    serverPid: pid,
    seed: (books) => (server.engine === 'postgres' ? seedPostgres : seedMysql)(server, database, books),
    remove: () => server.dropDatabase(database),
  }
}

async function seedPostgres(databases: Databases, url: string, books: number): Promise<void> {
  const select = selectBooks("'The Left Hand of Darkness ' || n.id", `generate_series(1, ${books}) AS n (id)`)
  await databases.query(`INSERT INTO books (title, author, year) ${select}`, url)
  // So that neither is done while something is measured.
  await databases.query('VACUUM ANALYZE books', url)
  await databases.query('CHECKPOINT', url)
}

async function seedMysql(databases: Databases, url: string, books: number): Promise<void> {
  const digits = Math.ceil(Math.log10(books))
  const columns = Array.from({ length: digits }, (_, i) => `d${i}.d * ${10 ** i}`).join(' + ')
  const tables = Array.from({ length: digits }, (_, i) => `digits AS d${i}`).join(' CROSS JOIN ')
  const numbers = `(SELECT 1 + ${columns} AS id FROM ${tables}) AS n`
  const union = Array.from({ length: 10 }, (_, d) => `SELECT ${d} AS d`).join(' UNION ALL ')
  const select = selectBooks("CONCAT('The Left Hand of Darkness ', n.id)", numbers)
  await databases.query(
    `INSERT INTO books (title, author, year) WITH digits AS (${union}) ${select} LIMIT ${books}`,
    url,
  )
  await databases.query('ANALYZE TABLE books', url)
}
