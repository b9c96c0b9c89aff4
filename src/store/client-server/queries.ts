import type { Book } from '../../catalogue/book.ts'
import type { BookFilter, BookQuery, Position, SortField } from '../../catalogue/query.ts'
import type { Page, PageBounds, QueryOptions, Statistics } from '../../catalogue/store.ts'
import { type Condition, conditionOf, type Dialect, orderBy, type Run, type Value } from '../query/dialect.ts'
import { type Found, readPage, type Source } from '../query/page-reader.ts'
import { selectStatistics } from '../query/statistics.ts'
import { countByScan, pageByScan, statisticsByScan } from '../server-scan.ts'
import { selectPage } from './page-sql.ts'
import { DEADLINE, type UseOptions } from './pool.ts'
import type { WordUpkeep } from './search-indexer.ts'

/** How long a search waits for the words of the last writes, of the time that it has; milliseconds. */
const INDEX_TIME = DEADLINE / 2

/** Runs a statement on a connection. */
export type Query = (sql: string, values: readonly Value[]) => Promise<unknown[]>

/** How an engine answers queries. */
export interface QueryEngine {
  /** How conditions are written to find books with these words, or any. */
  dialect(words: readonly string[] | undefined, query: Query): Promise<Dialect> | Dialect
  /** Keeps the index of words; undefined where the server has none. */
  readonly words: WordUpkeep | undefined
  /** Does the work on a connection. */
  use<Result>(work: (query: Query) => Promise<Result>, options: UseOptions): Promise<Result>
}

/** Answers the queries of a store on a server. */
export class ServerQueries {
  readonly #engine: QueryEngine

  constructor(engine: QueryEngine) {
    this.#engine = engine
  }

  async page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options: QueryOptions = {},
  ): Promise<Page> {
    if (this.#isIndexed(query.filter))
      return this.#use((source) => readPage(source, query, after, bounds), query.filter, options)
    return pageByScan(this, query, after, bounds, options)
  }

  async count(filter: BookFilter, options: QueryOptions = {}): Promise<number> {
    if (this.#isIndexed(filter)) return this.#use((source) => source.count(filter), filter, options)
    return countByScan(this, filter, options)
  }

  async statistics(filter: BookFilter, options: QueryOptions = {}): Promise<Statistics> {
    if (this.#isIndexed(filter)) return this.#use((source) => source.statistics(filter), filter, options)
    return statisticsByScan(this, filter, options)
  }

  /** Whether the server can find the books itself: words only where it has an index of them. */
  #isIndexed({ words }: BookFilter): boolean {
    return words === undefined || this.#engine.words !== undefined
  }

  async #use<Result>(
    work: (source: ServerSource) => Promise<Result>,
    filter: BookFilter,
    { signal, onIncomplete }: QueryOptions,
  ): Promise<Result> {
    const { dialect, words } = this.#engine
    const end = Date.now() + DEADLINE
    if (filter.words !== undefined && (await words?.bringUpToDate(INDEX_TIME, signal)) === false)
      onIncomplete?.()
    return this.#engine.use(
      async (query) => work(new ServerSource(await dialect(filter.words, query), query)),
      { time: end - Date.now(), signal },
    )
  }
}

/** Reads books on one connection. */
class ServerSource implements Source {
  readonly dialect: Dialect
  readonly #query: Query

  constructor(dialect: Dialect, query: Query) {
    this.dialect = dialect
    this.#query = query
  }

  async read(run: Run, books: number, text: number): Promise<Found[]> {
    const rows = await this.#query(selectPage(run, this.dialect, { books, text }), run.values)
    return (rows as Book[]).map((book) => ({ book, key: book }))
  }

  async keyAt({ where, values }: Condition, field: SortField, number: number): Promise<Value | undefined> {
    const key = this.dialect.key(field.name)
    const order = orderBy([field], this.dialect)
    const sql = `SELECT ${key} AS sort_key FROM books WHERE ${where} ORDER BY ${order} LIMIT 1 OFFSET ${number - 1}`
    const [row] = (await this.#query(sql, values)) as { sort_key: Value | Buffer }[]
    // MySQL compares texts as bytes.
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
