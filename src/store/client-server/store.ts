import type { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import type { BookFilter, BookQuery, Position } from '../../catalogue/query.ts'
import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  type Page,
  type PageBounds,
  type QueryOptions,
  type Statistics,
  type Store,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import type { Value } from '../query/dialect.ts'
import { type BookStatements, batchesOf } from './batches.ts'
import { type ImportTransaction, importIntoServer } from './import.ts'
import type { ConnectionPool, RunOn } from './pool.ts'
import { type QueryEngine, ServerQueries } from './queries.ts'
import {
  type BookIndex,
  BookIndexer,
  type BookKeys,
  KEYS_OF_BOOKS,
  WORDS_OF_BOOKS,
} from './search-indexer.ts'

/** How long a query of a readiness check may take, in milliseconds: supervisors do not wait for long. */
const READY_TIME = 2000

/** After an import of this many books, the server is told to make new statistics. */
const LARGE_IMPORT = 1000

/** How long making statistics may take, in milliseconds. */
const ANALYZE_TIME = 600_000

/** How long an import that skips existing books waits for the sort keys of all books, in milliseconds. */
const KEYS_TIME = 600_000

/** How long closing waits for statistics, in milliseconds. */
const CLOSE_TIME = 4000

/** What differs between the engines: what they do on a connection. */
export interface ServerEngine<Connection> extends Pick<QueryEngine, 'dialect'> {
  readonly books: BookStatements<Connection>
  /** Makes the index of words; undefined if the database has none. */
  readonly searchIndex: ((run: RunOn<Connection>) => BookIndex) | undefined
  /** Makes the index of sort keys; undefined if the database has none. */
  readonly keyIndex: ((run: RunOn<Connection>) => BookIndex<BookKeys>) | undefined
  /** Whether `create` stores the words of the book as well. */
  createsWords(book: NewBook): boolean
  /** Reads the table of books. @returns why this instance cannot write, if it should; otherwise undefined. */
  ready(connection: Connection): Promise<string | undefined>
  query(connection: Connection, sql: string, values: readonly Value[]): Promise<unknown[]>
  importOn(connection: Connection): ImportTransaction
  /** Makes the statistics by which the server plans queries. Undefined if the server does so in time by itself. */
  analyze?(connection: Connection): Promise<unknown>
}

export class ServerStore<Connection> implements Store {
  readonly #pool: ConnectionPool<Connection>
  readonly #engine: ServerEngine<Connection>
  readonly #indexer: BookIndexer | undefined
  readonly #keyIndexer: BookIndexer<BookKeys> | undefined
  readonly #queries: ServerQueries
  readonly #batches: ReturnType<typeof batchesOf<Connection>>
  readonly #analyzing = new AbortController()

  /** @param report tells the operator something, in one line. */
  constructor(
    pool: ConnectionPool<Connection>,
    engine: ServerEngine<Connection>,
    report: (message: string) => void,
  ) {
    this.#pool = pool
    this.#engine = engine
    const index = engine.searchIndex?.((work) => pool.run(work))
    this.#indexer = index && new BookIndexer(index, WORDS_OF_BOOKS, report)
    const keyIndex = engine.keyIndex?.((work) => pool.run(work))
    this.#keyIndexer = keyIndex && new BookIndexer(keyIndex, KEYS_OF_BOOKS, report)
    this.#queries = new ServerQueries({
      dialect: (words, keys, query) => engine.dialect(words, keys, query),
      indexer: this.#indexer,
      keyIndexer: this.#keyIndexer,
      timeout: pool.timeout,
      run: (work, options) =>
        pool.run((connection) => work((sql, values) => engine.query(connection, sql, values)), options),
    })
    this.#batches = batchesOf(pool, engine.books)
  }

  async create(book: NewBook): Promise<Book> {
    const created = await this.#batches.creates.do(book)
    if (created === undefined) throw new Error('INSERT returned no row')
    if (!this.#engine.createsWords(book)) this.#indexer?.noteWrite()
    return created
  }

  find(id: number): Promise<Book | undefined> {
    return this.#batches.reads.do(id)
  }

  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    return this.#queries.page(query, after, bounds, options)
  }

  count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    return this.#queries.count(filter, options)
  }

  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return this.#queries.statistics(filter, options)
  }

  async update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined> {
    const updated = await this.#batches.updates.do({ id, changes, expected })
    this.#indexer?.noteWrite()
    return updated
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    return (await this.#batches.deletions.do({ id, expected })) === true
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    if (options.skipExisting) await this.#completeKeys(options.signal)
    const transactionOn = (connection: Connection) => this.#engine.importOn(connection)
    const imported = await importIntoServer(this.#pool, transactionOn, groups, options)
    this.#indexer?.noteWrite()
    if (imported.added >= LARGE_IMPORT && !options.dryRun) this.#analyze()
    return imported
  }

  async ready(): Promise<void> {
    const time = Math.min(this.#pool.timeout, READY_TIME)
    const ask = () => this.#pool.run((connection) => this.#engine.ready(connection), { kind: 'read', time })
    if ((await ask()) === undefined) return
    // A new connection may lead to the server that has taken over.
    this.#pool.renew()
    const why = await ask()
    if (why !== undefined) throw new StoreUnavailable(why, { reason: 'read_only' })
  }

  load() {
    const { requests_waiting, ...connections } = this.#pool.load()
    const inBatches = Object.values(this.#batches).reduce((sum, { waiting }) => sum + waiting, 0)
    return { ...connections, requests_waiting: requests_waiting + inBatches }
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => this.#analyzing.abort(), CLOSE_TIME)
    // All at once, because a step of an index may wait for a server that is away.
    await Promise.all([this.#indexer?.close(), this.#keyIndexer?.close(), this.#pool.close()])
    clearTimeout(timer)
    // ANALYZE may still wait for a connection.
    this.#analyzing.abort()
  }

  /** An import finds existing books by their sort keys, so none may be missing, as they are after an upgrade. */
  async #completeKeys(signal: AbortSignal | undefined): Promise<void> {
    if (this.#keyIndexer === undefined || (await this.#keyIndexer.bringUpToDate(KEYS_TIME, signal))) return
    throw new StoreUnavailable('the sort keys of many books are still missing', { nothingWritten: true })
  }

  /** Nobody waits for it. Its errors are ignored: queries are only slower, and the account may not own the table. */
  #analyze(): void {
    const { analyze } = this.#engine
    if (analyze === undefined) return
    const options = { time: ANALYZE_TIME, isRepeatable: false, signal: this.#analyzing.signal }
    this.#pool.run(analyze, options).catch(() => {})
  }
}
