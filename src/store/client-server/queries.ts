import type { Book } from '../../catalogue/book.ts'
import type { BookFilter, BookQuery, Position, SortField } from '../../catalogue/query.ts'
import {
  type Page,
  type PageBounds,
  type QueryOptions,
  type Statistics,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { type Condition, conditionOf, type Dialect, orderBy, type Value } from '../query/dialect.ts'
import type { KeyRange } from '../query/key-ranges.ts'
import { type BookSource, type Found, readPage } from '../query/page-reader.ts'
import { selectStatistics } from '../query/statistics.ts'
import { selectPage } from './page-sql.ts'
import type { RunOptions } from './pool.ts'
import type { SearchIndexer } from './search-indexer.ts'

/** The part of its time that a search may wait until the last writes are indexed. */
const INDEX_TIME = 1 / 2

/** Runs a statement on a connection. */
export type Query = (sql: string, values: readonly Value[]) => Promise<unknown[]>

/** How an engine answers queries. */
export interface QueryEngine {
  /** How the conditions of a query are written. @param words the searched words. */
  dialect(words: readonly string[] | undefined, query: Query): Promise<Dialect> | Dialect
  /** Keeps the index of words; undefined if the database has none. */
  readonly indexer: SearchIndexer | undefined
  /** How long a query may take, in milliseconds. */
  readonly timeout: number
  /** Does the work on a connection. */
  run<Result>(work: (query: Query) => Promise<Result>, options: RunOptions): Promise<Result>
}

/** Answers the queries of a store on a server. */
export class ServerQueries {
  readonly #engine: QueryEngine

  constructor(engine: QueryEngine) {
    this.#engine = engine
  }

  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options: QueryOptions = {},
  ): Promise<Page> {
    return this.#run((source) => readPage(source, query, after, bounds), query.filter, options)
  }

  count(filter: BookFilter, options: QueryOptions = {}): Promise<number> {
    return this.#run((source) => source.count(filter), filter, options)
  }

  statistics(filter: BookFilter, options: QueryOptions = {}): Promise<Statistics> {
    return this.#run((source) => source.statistics(filter), filter, options)
  }

  async #run<Result>(
    work: (source: ServerSource) => Promise<Result>,
    { words }: BookFilter,
    { signal, onIncomplete }: QueryOptions,
  ): Promise<Result> {
    const { dialect, indexer, timeout } = this.#engine
    const end = Date.now() + timeout
    if (words !== undefined) {
      if (indexer === undefined) throw new StoreUnavailable('the database has no index for searches')
      if (!(await indexer.bringUpToDate(timeout * INDEX_TIME, signal))) onIncomplete?.()
    }
    return this.#engine.run(async (query) => work(new ServerSource(await dialect(words, query), query)), {
      time: end - Date.now(),
      signal,
    })
  }
}

/** Reads books on one connection. */
class ServerSource implements BookSource {
  readonly dialect: Dialect
  readonly #query: Query

  constructor(dialect: Dialect, query: Query) {
    this.dialect = dialect
    this.#query = query
  }

  async read(range: KeyRange, books: number, text: number): Promise<Found[]> {
    const rows = await this.#query(selectPage(range, this.dialect, { books, text }), range.values)
    return (rows as Book[]).map((book) => ({ book, key: book }))
  }

  async keyAt({ where, values }: Condition, field: SortField, number: number): Promise<Value | undefined> {
    const key = this.dialect.key(field.name)
    const order = orderBy([field], this.dialect)
    const sql = `SELECT ${key} AS sort_key FROM books WHERE ${where} ORDER BY ${order} LIMIT 1 OFFSET ${number - 1}`
    const [row] = (await this.#query(sql, values)) as { sort_key: Value | Buffer }[]
    // MySQL returns sort keys of texts as bytes.
    return Buffer.isBuffer(row?.sort_key) ? row.sort_key.toString() : row?.sort_key
  }

  async count(filter: BookFilter): Promise<number> {
    const { where, values } = conditionOf(filter, this.dialect)
    const [row] = (await this.#query(`SELECT count(*) AS books FROM books WHERE ${where}`, values)) as [
      { books: number },
    ]
    return row.books
  }

  statistics(filter: BookFilter): Promise<Statistics> {
    return selectStatistics(this.#query, 'books', conditionOf(filter, this.dialect), this.dialect)
  }
}
