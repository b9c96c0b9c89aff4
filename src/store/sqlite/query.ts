import { type Book, bookOf, textSize } from '../../catalogue/book.ts'
import {
  type BookFilter,
  type BookQuery,
  filtersTexts,
  idOrder,
  type Position,
  type SortField,
  textsIn,
} from '../../catalogue/query.ts'
import { SEARCHED_LENGTH } from '../../catalogue/search-words.js'
import type { Page, PageBounds, Statistics } from '../../catalogue/store.ts'
import {
  type Condition,
  conditionOf,
  type Dialect,
  orderBy,
  type Value,
  type WhereClause,
} from '../query/dialect.ts'
import { type BookSource, type Found, readPage } from '../query/page-reader.ts'
import { type Select, selectStatistics } from '../query/statistics.ts'
import { rowsOf, type Statements } from './connection.ts'
import { dialectOf, joined, meetsFilter, type Tables, tablesOf, VALUES, WANTED } from './dialect.ts'
import { missingKeyIndex, UNINDEXED } from './schema.ts'

/** Up to this many books are sorted. With more, a page is found faster by reading all books in its order. */
const FEW_BOOKS = 10_000

/**
 * With more books or bytes of text to index than this, queries do not wait for the index. Indexing that much takes a
 * second in a large catalogue, and so does rebuilding missing indexes of this many keys.
 */
const FAR_BEHIND = { books: 5000, text: 2 * 1024 * 1024, keys: 100_000 }

const TEXT = (field: string) => `min(octet_length(${field}), ${4 * SEARCHED_LENGTH})`

/** Whether the index lacks changes, or an index of keys is missing. */
export function indexState(database: Statements): 'current' | 'behind' | 'far behind' {
  const isLonger = (table: string, books: number) =>
    database.prepare(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ?`).get(books) !== undefined
  const isMissing = missingKeyIndex(database) !== undefined
  if (!isLonger(UNINDEXED, 0) && !isMissing) return 'current'
  if (isLonger(UNINDEXED, FAR_BEHIND.books)) return 'far behind'
  if (isMissing && isLonger('book_keys', FAR_BEHIND.keys)) return 'far behind'
  // CROSS keeps SQLite from scanning all books: it does not know that UNINDEXED has few.
  const { text } = database
    .prepare(
      `SELECT total(${TEXT('title')} + ${TEXT('author')}) AS text FROM ${UNINDEXED} CROSS JOIN books USING (id)`,
    )
    .get() as { text: number }
  return text > FAR_BEHIND.text ? 'far behind' : 'behind'
}

export function readSqlitePage(
  database: Statements,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
  isBehind: boolean,
): Promise<Page> {
  const isIndexed = idOrder(query) === undefined
  const tables = isIndexed
    ? { books: true, keys: true, words: query.filter.words !== undefined, isBehind }
    : { books: true, keys: false, words: false }
  const source = sourceOf(database, tables, dialectOf(tables, database), query)
  return readPage(source, query, after, bounds)
}

export function countBooks(database: Statements, filter: BookFilter, isBehind: boolean): number {
  const tables = { ...tablesOf(filter), isBehind }
  const { where, values } = conditionOf(filter, dialectOf(tables))
  // SQLite counts a million books in 0.04 seconds if it has no condition to check.
  const condition = values.length === 0 ? where : `${WANTED} AND ${where}`
  const statement = database.prepare(`SELECT count(*) AS books FROM ${joined(tables)} WHERE ${condition}`)
  return Number(statement.get(...values)?.books)
}

export function readSqliteStatistics(
  database: Statements,
  filter: BookFilter,
  isBehind: boolean,
): Promise<Statistics> {
  const tables = { ...tablesOf(filter), keys: true, isBehind }
  const dialect = dialectOf(tables)
  const select: Select = (sql, values) => database.prepare(sql).all(...values)
  const { where, values } = conditionOf(filter, dialect)
  return selectStatistics(select, joined(tables), { where: `${WANTED} AND ${where}`, values }, dialect)
}

function sourceOf(database: Statements, tables: Tables, dialect: Dialect, query: BookQuery): BookSource {
  // Only the keys of the order: computing others would take long while the index is behind.
  const keys = tables.keys ? [...textsIn(query.order).map((name) => `${name}_key`), 'year_key'] : []
  const columns = [`${dialect.key('id')} AS id`, ...VALUES.slice(1), ...keys].join(', ')
  const foundIn: (row: Row) => Found = tables.keys ? foundWithKeys : (book) => ({ book, key: book })
  // A page in the order of ids reads only its own rows, so it ends soon. The function would take a sixth of its time.
  const hasUnindexed = database.prepare(`SELECT 1 FROM ${UNINDEXED} LIMIT 1`).get() !== undefined
  const unindexed = meetsFilter(hasUnindexed && !tables.isBehind ? query.filter : {}, dialect)
  const condition = tables.keys ? `${WANTED} AND ${unindexed.where}` : 'TRUE'

  /**
   * The tables, with the index to read them by where SQLite would sort too many books. SQLite cannot know how many a
   * condition selects, because its statistics are those of a typical catalogue.
   */
  function fromFor(books: WhereClause, [first]: readonly SortField[]): string {
    const from = joined(tables)
    if (!tables.keys || tables.words || tables.isBehind || first === undefined) return from
    if (!selectsMany(books.without(first.name), first) || missingKeyIndex(database)) return from
    const index = first.name === 'id' ? 'NOT INDEXED' : `INDEXED BY book_keys_${first.name}`
    return from.replace('book_keys', `book_keys ${index}`)
  }

  /** Whether the conditions on fields other than the first of the order select many books. */
  function selectsMany({ where, values }: Condition, { name }: SortField): boolean {
    // In an index, books with an equal key are in the order of ids.
    if (values.length === 0 || (name === 'id' && !/[<>]/.test(where))) return false
    const from = joined({ ...tables, books: filtersTexts(query.filter) })
    const statement = database.prepare(`SELECT 1 FROM ${from} WHERE ${where} LIMIT 1 OFFSET ?`)
    return statement.get(...values, FEW_BOOKS) !== undefined
  }

  return {
    dialect,

    async read({ books, fields }, number, text) {
      const statement = database.prepare(`
        SELECT ${columns} FROM ${fromFor(books, fields)} WHERE ${condition} AND ${books.where}
        ORDER BY ${orderBy(fields, dialect)} LIMIT ?`)
      const found: Found[] = []
      let room = text
      for (const row of rowsOf(statement, ...unindexed.values, ...books.values, number)) {
        const each = foundIn(row as unknown as Row)
        found.push(each)
        room -= textSize(each.book)
        if (room <= 0) break
      }
      return found
    },

    async keyAt(books, field, number) {
      const statement = database.prepare(`
        SELECT ${dialect.key(field.name)} AS key FROM ${fromFor(books, [field])}
        WHERE ${condition} AND ${books.where} ORDER BY ${orderBy([field], dialect)} LIMIT 1 OFFSET ?`)
      return statement.get(...unindexed.values, ...books.values, number - 1)?.key as Value | undefined
    },
  }
}

interface Row extends Book {
  readonly title_key?: string
  readonly author_key?: string
  readonly year_key: number
}

function foundWithKeys(row: Row): Found {
  const { id, title_key: title = '', author_key: author = '', year_key: year } = row
  return { book: bookOf(row), key: { id, title, author, year } }
}
