import type { NewBook } from '../../catalogue/book.ts'
import { type Store, StoreUnavailable } from '../../catalogue/store.ts'
import { type BookStatements, batchesOf } from './batches.ts'
import { type Right, writesNothing } from './ensure-schema.ts'
import { type ImportMode, type ImportTransaction, importIntoServer } from './import.ts'
import { ANY_BOOK } from './page-sql.ts'
import type { ConnectionPool } from './pool.ts'
import { type QueryEngine, queriesOf } from './queries.ts'
import { type BookIndex, BookIndexer } from './search-indexer.ts'

/** How long a query of a readiness check may take, in milliseconds: supervisors do not wait for long. */
const READY_TIME = 2000

/** After an import of this many books, the server is told to make new statistics. */
const LARGE_IMPORT = 1000

/** How long making statistics may take, and how long closing waits for them; in milliseconds. */
const ANALYZE_TIME = 600_000
const CLOSE_TIME = 4000

/** How long an import that skips existing books waits for the sort keys of all books, in milliseconds. */
const KEYS_TIME = 600_000

/** What differs between the engines: what they do on a connection. */
export interface ServerEngine<Connection> extends QueryEngine<Connection> {
  readonly books: BookStatements<Connection>
  /** Make the indexes of words and of sort keys; undefined where the database has none. */
  readonly searchIndex: ((pool: ConnectionPool<Connection>) => BookIndex) | undefined
  readonly keyIndex: ((pool: ConnectionPool<Connection>) => BookIndex) | undefined
  /** Whether `create` stores the words of the book as well. */
  createsWords(book: NewBook): boolean
  /** Whether the server refuses writes. @param more SQL of further columns to read. */
  isReadOnly(connection: Connection, more: string): Promise<boolean>
  /** The rights on the table of books that the account lacks. */
  missingRights(connection: Connection): Promise<readonly Right[]>
  importOn(connection: Connection, mode: ImportMode): ImportTransaction
  /** Makes the statistics by which the server plans queries. Undefined if the server does so in time by itself. */
  analyze?(connection: Connection): Promise<unknown>
}

export function serverStore<Connection>(
  pool: ConnectionPool<Connection>,
  engine: ServerEngine<Connection>,
  isForReads: boolean,
): Store {
  const [wordIndex, keyIndex] = [engine.searchIndex?.(pool), engine.keyIndex?.(pool)]
  const words = wordIndex && new BookIndexer(wordIndex)
  const keys = keyIndex && new BookIndexer(keyIndex)
  const batches = batchesOf(pool, engine.books)
  const analyzing = new AbortController()

  /** Reads the table of books. @returns why this instance cannot write, if it should; otherwise undefined. */
  async function whyNotReady(connection: Connection): Promise<string | undefined> {
    const isReadOnly = await engine.isReadOnly(connection, ANY_BOOK)
    if (isForReads) return undefined
    if (isReadOnly) return 'the database server is read-only'
    const lacked = await engine.missingRights(connection)
    return writesNothing(lacked) ? 'the account may not write' : undefined
  }

  /** Nobody waits for it. Its errors are ignored: queries are only slower, and the account may not own the table. */
  function analyze(): void {
    if (engine.analyze === undefined) return
    const options = { time: ANALYZE_TIME, isRepeatable: false, signal: analyzing.signal }
    pool.run(engine.analyze, options).catch(() => {})
  }

  return {
    ...queriesOf(pool, engine, words, keys),

    async create(book) {
      const created = await batches.creates.do(book)
      if (created === undefined) throw new Error('INSERT returned no row')
      if (!engine.createsWords(book)) words?.noteWrite()
      return created
    },

    find: async (id) => (await batches.reads.do(id)) ?? undefined,

    async update(id, changes, expected) {
      const updated = await batches.updates.do({ id, changes, expected })
      words?.noteWrite()
      return updated
    },

    delete: async (id, expected) => (await batches.deletions.do({ id, expected })) === true,

    async import(groups, options = {}) {
      const { skipExisting, keepIds = false, signal } = options
      // Some may be missing: after an upgrade, or of books that the database protects from changes.
      const hasAllKeys = skipExisting === true && (await keys?.bringUpToDate(KEYS_TIME, signal)) === true
      const transactionOn = (connection: Connection) => engine.importOn(connection, { keepIds, hasAllKeys })
      const imported = await importIntoServer(pool, transactionOn, groups, options)
      words?.noteWrite()
      if (imported.added >= LARGE_IMPORT && !options.dryRun) analyze()
      return imported
    },

    async ready() {
      const time = Math.min(pool.timeout, READY_TIME)
      const ask = () => pool.run(whyNotReady, { kind: 'read', time })
      if ((await ask()) === undefined) return
      // A new connection may lead to the server that has taken over.
      pool.renew()
      const why = await ask()
      if (why !== undefined) throw new StoreUnavailable(why, { reason: 'read_only' })
    },

    load() {
      const { requests_waiting, ...connections } = pool.load()
      const inBatches = Object.values(batches).reduce((sum, { waiting }) => sum + waiting, 0)
      return { ...connections, requests_waiting: requests_waiting + inBatches }
    },

    async close() {
      const timer = setTimeout(() => analyzing.abort(), CLOSE_TIME)
      // All at once, because a step of an index may wait for a server that is away.
      await Promise.all([words?.close(), keys?.close(), pool.close()])
      clearTimeout(timer)
      // ANALYZE may still wait for a connection.
      analyzing.abort()
    },
  }
}
