import { type Book, bookOf, type IndexedField } from '../../catalogue/book.ts'
import { pageOf } from '../../catalogue/page.ts'
import { type BookFilter, filtersTexts, idOrder, type SortKeys, textsIn } from '../../catalogue/query.ts'
import { plainKey, sortKey } from '../../catalogue/sort-key.ts'
import {
  type Page,
  type PageBounds,
  type QueryOptions,
  type Store,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { conditionOf, type Dialect, orderBy, type Value, WhereClause } from '../query/dialect.ts'
import { type BookSource, readPage } from '../query/page-reader.ts'
import { selectStatistics } from '../query/statistics.ts'
import type { Kind } from './connections.ts'
import { areBooks, type ShortBookRow, selectPage, shortBook } from './page-sql.ts'
import type { ConnectionPool } from './pool.ts'
import type { BookIndexer } from './search-indexer.ts'

/** The part of its time that a query may wait until the last writes are indexed. */
const INDEX_TIME = 1 / 2

/**
 * How long a query may misplace a book that another program has written without sort keys, in milliseconds. Looking for
 * such books before each query would make a page twice as expensive.
 */
export const KEYS_AGE = 1000

/** Large, as each page is a round trip. 512 bytes of text for each book are enough for most. */
const LIST_BOUNDS: PageBounds = { books: 2048, text: 1024 * 1024 }

/** Runs a statement on a connection. @returns the rows. */
export type Query = (sql: string, values: readonly Value[]) => Promise<unknown[]>

/**
 * The sort keys of a query.
 * - `stored`: those that are stored with the books.
 * - `incomplete`: the same, although some may be missing. Only the order may use them.
 * - `computed`: what SQL can make of the texts: in the order of code points, and without an index.
 */
export type KeySource = 'stored' | 'incomplete' | 'computed'

/** The `keyOf` of the dialects of servers. */
export function keyFrom(keys: KeySource, name: IndexedField, text: string): string | undefined {
  if (keys === 'incomplete') return undefined
  return keys === 'computed' ? plainKey(text) : String(sortKey(name, text))
}

export interface QueryEngine<Connection> {
  /** The SQL for a query that searches these words. If the database has no sort keys, they are computed. */
  dialect(words: readonly string[] | undefined, keys: KeySource, query: Query): Promise<Dialect> | Dialect
  query(connection: Connection, ...statement: Parameters<Query>): ReturnType<Query>
}

/** @param words maintains the index of words, if the database has one. @param keys likewise, for sort keys. */
export function queriesOf<Connection>(
  pool: ConnectionPool<Connection>,
  engine: QueryEngine<Connection>,
  words: BookIndexer | undefined,
  keys: BookIndexer | undefined,
): Pick<Store, 'listBounds' | 'page' | 'count' | 'statistics'> {
  /** @param fallbackKeys the keys to use if some sort keys are missing; false if the query needs none. */
  async function run<Result>(
    work: (dialect: Dialect, query: Query) => Promise<Result>,
    kind: Kind,
    filter: BookFilter,
    { signal, client, onIncomplete }: QueryOptions = {},
    fallbackKeys: KeySource | false = false,
  ): Promise<Result> {
    const end = Date.now() + pool.timeout
    const indexTime = pool.timeout * INDEX_TIME
    if (filter.words !== undefined && words === undefined)
      throw new StoreUnavailable('the database has no index for searches')
    const [hasWords, hasKeys] = await Promise.all([
      filter.words === undefined || words?.bringUpToDate(indexTime, signal),
      fallbackKeys === false || (keys?.bringUpToDate(indexTime, signal, KEYS_AGE) ?? true),
    ])
    const source = hasKeys || fallbackKeys === false ? 'stored' : fallbackKeys
    if (!hasWords || source === 'incomplete') onIncomplete?.()
    return pool.run(
      async (connection) => {
        const query: Query = (sql, values) => engine.query(connection, sql, values)
        return work(await engine.dialect(filter.words, source, query), query)
      },
      { kind, time: end - Date.now(), signal, client },
    )
  }

  return {
    listBounds: LIST_BOUNDS,

    page(query, after, bounds, options) {
      const { filter, order } = query
      if (idOrder(query)?.descending === false) {
        const begin = Number(after?.[0] ?? 0)
        const readList = async (dialect: Dialect, run: Query) =>
          (await readShortBooks(dialect, run, begin, bounds)) ??
          readPage(sourceOf(dialect, run, []), query, after, bounds)
        return run(readList, 'read', filter, options)
      }
      const texts = textsIn(order)
      const read = (dialect: Dialect, run: Query) =>
        readPage(sourceOf(dialect, run, texts), query, after, bounds)
      const kind = filter.words === undefined ? 'page' : 'search'
      // Relevance is a matter of the sort key of the title.
      const needsKeys = order === 'relevance' || texts.length > 0 || filtersTexts(filter)
      return run(read, kind, filter, options, needsKeys && 'incomplete')
    },

    count: (filter, options) =>
      run(
        async (dialect, query) => {
          const { where, values } = conditionOf(filter, dialect)
          const rows = await query(`SELECT count(*) AS books FROM books WHERE ${where}`, values)
          return (rows as [{ books: number }])[0].books
        },
        'search',
        filter,
        options,
        filtersTexts(filter) && 'computed',
      ),

    statistics: (filter, options) =>
      run(
        (dialect, query) => selectStatistics(query, 'books', conditionOf(filter, dialect), dialect),
        'search',
        filter,
        options,
        'computed',
      ),
  }
}

/** A book, and the keys by which it was sorted. MySQL returns sort keys of texts as bytes. */
interface Row extends Book {
  readonly sort_title?: string | Buffer
  readonly sort_author?: string | Buffer
}

const keysOf = ({ id, sort_title, sort_author, year }: Row): SortKeys => ({
  id,
  title: String(sort_title),
  author: String(sort_author),
  year,
})

/** @param texts whose sort keys are read with each book. */
const sourceOf = (dialect: Dialect, query: Query, texts: readonly IndexedField[]): BookSource => ({
  dialect,

  async read({ books: { where, values }, fields }, books, text) {
    const sql = selectPage({ where, fields }, dialect, { books, text }, texts)
    const rows = (await query(sql, values)) as Row[]
    return rows.map((row) => ({ book: bookOf(row), key: keysOf(row) }))
  },

  async keyAt({ where, values }, field, number) {
    const order = orderBy([field], dialect)
    const sql = `SELECT ${dialect.key(field.name)} AS sort_key FROM books WHERE ${where} ORDER BY ${order} LIMIT 1 OFFSET ${number - 1}`
    const [row] = (await query(sql, values)) as { sort_key: Value | Buffer }[]
    return Buffer.isBuffer(row?.sort_key) ? row.sort_key.toString() : row?.sort_key
  },
})

/**
 * Reads a page of all books in the order of their ids, if each is so short that all of them are within the bounds.
 * Cutting a page where its texts become too long takes a server three times as long.
 * @returns undefined if a book is longer.
 */
async function readShortBooks(
  dialect: Dialect,
  query: Query,
  after: number,
  { books, text }: PageBounds,
): Promise<Page | undefined> {
  const { where, values } = new WhereClause(dialect, {}).compare('id', '>', after)
  const columns = shortBook(Math.floor(text / books))
  const sql = `SELECT ${columns} FROM books WHERE ${where} ORDER BY id LIMIT ${books + 1}`
  const rows = (await query(sql, values)) as ShortBookRow[]
  if (!areBooks(rows)) return undefined
  const more = rows.length > books
  if (more) rows.pop()
  const last = rows.at(-1)
  return pageOf(rows, { last: last && [last.id], more })
}
