import type { DatabaseSync } from 'node:sqlite'
import type { Book } from '../../catalogue/book.ts'
import type { BookFilter, BookQuery, Position, SortField } from '../../catalogue/query.ts'
import { SEARCHED_LENGTH } from '../../catalogue/search-words.ts'
import type { Page, PageBounds, Statistics } from '../../catalogue/store.ts'
import { type Condition, conditionOf, type Dialect, orderBy, type Run, type Value } from '../query/dialect.ts'
import { type Found, readPage, type Source, sizeOf } from '../query/page-reader.ts'
import { type Select, selectStatistics } from '../query/statistics.ts'
import { dialectOf, joined, type Tables, tablesOf, WANTED } from './dialect.ts'
import { missingKeyIndex } from './schema.ts'

/** So many books are soon sorted. */
const FEW_BOOKS = 10_000

/**
 * With more books than this to index, or more of their text in bytes, the index is too far behind to wait for it: they
 * take a second, in a large catalogue. So do the indexes of keys if they are missing, of more books than that.
 */
const FAR_BEHIND = { books: 5000, text: 2 * 1024 * 1024, keys: 100_000 }

const TEXT = (field: string) => `min(octet_length(${field}), ${4 * SEARCHED_LENGTH})`

/** Whether there are changes that the index does not have, or a part of it is missing. */
export function indexState(database: DatabaseSync): 'current' | 'behind' | 'far behind' {
  const isLonger = (table: string, books: number) =>
    database.prepare(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ?`).get(books) !== undefined
  const isMissing = missingKeyIndex(database) !== undefined
  if (!isLonger('unindexed', 0) && !isMissing) return 'current'
  if (isLonger('unindexed', FAR_BEHIND.books)) return 'far behind'
  if (isMissing && isLonger('book_keys', FAR_BEHIND.keys)) return 'far behind'
  const { text } = database
    .prepare(
      `SELECT total(${TEXT('title')} + ${TEXT('author')}) AS text FROM unindexed JOIN books USING (id)`,
    )
    .get() as { text: number }
  return text > FAR_BEHIND.text ? 'far behind' : 'behind'
}

/** Whether the query needs the index at all. */
export function needsIndex({ filter, order }: BookQuery): boolean {
  const isById = order !== 'relevance' && order[0]?.name === 'id'
  return !isById || Object.keys(filter).length > 0
}

/** Reads a page as Store.page promises it. @param isBehind whether the index is. */
export function readSqlitePage(
  database: DatabaseSync,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
  isBehind: boolean,
): Promise<Page> {
  const isIndexed = needsIndex(query)
  const tables = isIndexed
    ? { books: true, keys: true, words: query.filter.words !== undefined, isBehind }
    : { books: true, keys: false, words: false }
  const dialect = dialectOf(tables, isIndexed && !isBehind && hasManyYears(database, query))
  return readPage(new Reading(database, tables, dialect), query, after, bounds)
}

/**
 * Whether the books are those of many years, in another order: then a page is found by going through all books in that
 * order, sooner than by sorting those of the years.
 */
function hasManyYears(database: DatabaseSync, { filter, order }: BookQuery): boolean {
  const { yearMin, yearMax, ...others } = filter
  const isRange = yearMin !== undefined || yearMax !== undefined
  if (!isRange || Object.keys(others).length > 0 || order === 'relevance' || order[0]?.name === 'year')
    return false
  const { where, values } = conditionOf(filter, dialectOf(tablesOf(filter)))
  return (
    database.prepare(`SELECT 1 FROM book_keys WHERE ${where} LIMIT 1 OFFSET ?`).get(...values, FEW_BOOKS) !==
    undefined
  )
}

/** Counts as Store.count promises it. @param isBehind whether the index is. */
export function countBooks(database: DatabaseSync, filter: BookFilter, isBehind: boolean): number {
  const tables = { ...tablesOf(filter), isBehind }
  const { where, values } = conditionOf(filter, dialectOf(tables))
  // To count all books takes SQLite 0.04 seconds for a million, if it need not look at each.
  const condition = values.length === 0 ? where : `${WANTED} AND ${where}`
  const statement = database.prepare(`SELECT count(*) AS books FROM ${joined(tables)} WHERE ${condition}`)
  return Number(statement.get(...values)?.books)
}

/** Counts as Store.statistics promises it. @param isBehind whether the index is. */
export function readSqliteStatistics(
  database: DatabaseSync,
  filter: BookFilter,
  isBehind: boolean,
): Promise<Statistics> {
  const tables = { ...tablesOf(filter), keys: true, isBehind }
  const dialect = dialectOf(tables)
  const select: Select = (sql, values) => database.prepare(sql).all(...values)
  const { where, values } = conditionOf(filter, dialect)
  return selectStatistics(select, joined(tables), { where: `${WANTED} AND ${where}`, values }, dialect)
}

class Reading implements Source {
  readonly dialect: Dialect
  readonly #database: DatabaseSync
  readonly #from: string
  readonly #columns: string

  constructor(database: DatabaseSync, tables: Tables, dialect: Dialect) {
    this.dialect = dialect
    this.#database = database
    this.#from = joined(tables)
    const keys = tables.keys ? ', title_key, author_key, year_key' : ''
    this.#columns = `${this.dialect.key('id')} AS id, title, author, year${keys}`
  }

  async read({ where, fields, values }: Run, books: number, text: number): Promise<Found[]> {
    const statement = this.#database.prepare(
      `SELECT ${this.#columns} FROM ${this.#from} WHERE ${WANTED} AND ${where} ORDER BY ${orderBy(fields, this.dialect)} LIMIT ?`,
    )
    const found: Found[] = []
    let room = text
    for (const row of statement.iterate(...values, books)) {
      const { id, title, author, year, title_key, author_key, year_key } = row as unknown as Row
      const book = { id, title, author, year }
      found.push({
        book,
        key: { id, title: title_key ?? title, author: author_key ?? author, year: year_key ?? year },
      })
      room -= sizeOf(book)
      if (room <= 0) break
    }
    return found
  }

  async keyAt({ where, values }: Condition, field: SortField, number: number): Promise<Value | undefined> {
    const statement = this.#database.prepare(`
      SELECT ${this.dialect.key(field.name)} AS key FROM ${this.#from}
      WHERE ${WANTED} AND ${where} ORDER BY ${orderBy([field], this.dialect)} LIMIT 1 OFFSET ?`)
    return statement.get(...values, number - 1)?.key as Value | undefined
  }
}

/** A book, and what the index has of it if that was read too. */
interface Row extends Book {
  readonly title_key?: string
  readonly author_key?: string
  readonly year_key?: number
}
