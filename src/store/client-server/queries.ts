import { type Book, bookOf, type IndexedField } from '../../catalogue/book.ts'
import { pageOf } from '../../catalogue/page.ts'
import {
  type BookFilter,
  type BookQuery,
  filtersTexts,
  idOrder,
  type Position,
  type SortField,
  type SortKeys,
  textsIn,
} from '../../catalogue/query.ts'
import {
  type Page,
  type PageBounds,
  type QueryOptions,
  type Statistics,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { conditionOf, type Dialect, orderBy, type Value, WhereClause } from '../query/dialect.ts'
import type { KeyRange } from '../query/key-ranges.ts'
import { type BookSource, type Found, readPage } from '../query/page-reader.ts'
import { selectStatistics } from '../query/statistics.ts'
import type { Kind } from './connection-share.ts'
import { areBooks, type ShortBookRow, selectPage, shortBook } from './page-sql.ts'
import type { RunOptions } from './pool.ts'
import type { BookIndexer, BookKeys } from './search-indexer.ts'

/** The part of its time that a query may wait until the last writes are indexed. */
const INDEX_TIME = 1 / 2

/**
 * How long a query may misplace a book that another program has written without sort keys, in milliseconds. Looking for
 * such books before each query would make a page twice as expensive.
 */
export const KEYS_AGE = 1000

/** Runs a statement on a connection. @returns the rows. */
export type Query = (sql: string, values: readonly Value[]) => Promise<unknown[]>

/**
 * The sort keys of a query.
 * - `stored`: those that are stored with the books.
 * - `incomplete`: the same, although some may be missing. Only the order may use them.
 * - `computed`: what SQL can make of the texts: in the order of code points, and without an index.
 */
export type KeySource = 'stored' | 'incomplete' | 'computed'

export interface QueryEngine {
  /** The SQL for a query that searches these words. If the database has no sort keys, they are computed. */
  dialect(words: readonly string[] | undefined, keys: KeySource, query: Query): Promise<Dialect> | Dialect
  /** Maintains the index of words; undefined if the database has none. */
  readonly indexer: BookIndexer | undefined
  /** Maintains the sort keys; undefined if the database has none. */
  readonly keyIndexer: BookIndexer<BookKeys> | undefined
  /** How long a query may take, in milliseconds. */
  readonly timeout: number
  /** Does work that only reads on a connection. */
  run<Result>(work: (query: Query) => Promise<Result>, options: RunOptions): Promise<Result>
}

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
    const texts = textsIn(query.order)
    const isList = idOrder(query)?.descending === false
    const work = async (source: ServerSource) =>
      (isList && (await source.readShortBooks(Number(after?.[0] ?? 0), bounds))) ||
      readPage(source.withKeys(texts), query, after, bounds)
    const kind = query.filter.words === undefined ? 'page' : 'search'
    return this.#run(
      work,
      isList ? 'read' : kind,
      query.filter,
      options,
      (texts.length > 0 || filtersTexts(query.filter)) && 'incomplete',
    )
  }

  count(filter: BookFilter, options: QueryOptions = {}): Promise<number> {
    const fallbackKeys = filtersTexts(filter) && 'computed'
    return this.#run((source) => source.count(filter), 'search', filter, options, fallbackKeys)
  }

  statistics(filter: BookFilter, options: QueryOptions = {}): Promise<Statistics> {
    return this.#run((source) => source.statistics(filter), 'search', filter, options, 'computed')
  }

  /** @param fallbackKeys the keys to use if some sort keys are missing; false if the query needs none. */
  async #run<Result>(
    work: (source: ServerSource) => Promise<Result>,
    kind: Kind,
    { words }: BookFilter,
    { signal, client, onIncomplete }: QueryOptions,
    fallbackKeys: KeySource | false,
  ): Promise<Result> {
    const { dialect, indexer, keyIndexer, timeout } = this.#engine
    const end = Date.now() + timeout
    if (words !== undefined && indexer === undefined)
      throw new StoreUnavailable('the database has no index for searches')
    const [hasWords, hasKeys] = await Promise.all([
      words === undefined || indexer?.bringUpToDate(timeout * INDEX_TIME, signal),
      fallbackKeys === false || (keyIndexer?.bringUpToDate(timeout * INDEX_TIME, signal, KEYS_AGE) ?? true),
    ])
    const keys = hasKeys || fallbackKeys === false ? 'stored' : fallbackKeys
    if (!hasWords || keys === 'incomplete') onIncomplete?.()
    return this.#engine.run(
      async (query) => work(new ServerSource(await dialect(words, keys, query), query)),
      { kind, time: end - Date.now(), signal, client },
    )
  }
}

/** A book, and the keys by which it was sorted. */
interface Row extends Book {
  /** MySQL returns sort keys of texts as bytes. */
  readonly sort_title?: string | Buffer
  readonly sort_author?: string | Buffer
}

const keysOf = ({ id, sort_title, sort_author, year }: Row): SortKeys => ({
  id,
  title: String(sort_title),
  author: String(sort_author),
  year,
})

class ServerSource implements BookSource {
  readonly dialect: Dialect
  readonly #query: Query
  readonly #texts: readonly IndexedField[]

  /** @param texts whose sort keys are read with each book. */
  constructor(dialect: Dialect, query: Query, texts: readonly IndexedField[] = []) {
    this.dialect = dialect
    this.#query = query
    this.#texts = texts
  }

  withKeys(texts: readonly IndexedField[]): ServerSource {
    return new ServerSource(this.dialect, this.#query, texts)
  }

  /**
   * Reads a page of all books in the order of their ids, if each is so short that all of them are within the bounds.
   * Cutting a page where its texts become too long takes a server three times as long.
   * @returns undefined if a book is longer.
   */
  async readShortBooks(after: number, { books, text }: PageBounds): Promise<Page | undefined> {
    const { where, values } = new WhereClause(this.dialect, {}).compare('id', '>', after)
    const columns = shortBook(Math.floor(text / books))
    const sql = `SELECT ${columns} FROM books WHERE ${where} ORDER BY id LIMIT ${books + 1}`
    const rows = (await this.#query(sql, values)) as ShortBookRow[]
    if (!areBooks(rows)) return undefined
    const more = rows.length > books
    if (more) rows.pop()
    const last = rows.at(-1)
    return pageOf(rows, { last: last && [last.id], more })
  }

  async read({ books: { where, values }, fields }: KeyRange, books: number, text: number): Promise<Found[]> {
    const sql = selectPage({ where, fields }, this.dialect, { books, text }, this.#texts)
    const rows = await this.#query(sql, values)
    return (rows as Row[]).map((row) => ({ book: bookOf(row), key: keysOf(row) }))
  }

  async keyAt({ where, values }: WhereClause, field: SortField, number: number): Promise<Value | undefined> {
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
