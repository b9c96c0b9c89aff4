import type { DatabaseSync } from 'node:sqlite'
import type { Book } from '../book.ts'
import type { BookFilter, BookQuery, Position, SortField } from '../book-query.ts'
import { type Found, readPage, type Source } from './page.ts'
import { type Condition, conditionOf, type Dialect, orderBy, type Run, type Value } from './query-sql.ts'
import type { Page, PageBounds } from './store.ts'

const KEYS = { id: 'id', title: 'title_key', author: 'author_key', year: 'year_key' }

const dialect: Dialect = {
  placeholder: () => '?',
  key: (name) => KEYS[name],
  equals: (name, placeholder) => `${name} = ${placeholder}`,
  hasWords: (words, whole, bind) =>
    `id IN (SELECT rowid FROM book_words WHERE book_words MATCH ${bind(matchExpression(words, whole))})`,
}

/** The words have only letters, digits and marks, so nothing in them means anything to FTS5. */
const matchExpression = (words: readonly string[], whole: boolean) =>
  words.map((word) => `"${word}"${whole ? '' : '*'}`).join(' AND ')

/** Reads the books of queries from a database file, by its index (sqlite-index.ts). */
export class SqliteQueries implements Source {
  readonly dialect = dialect
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Whether there are changes that the index does not have. */
  get isBehind(): boolean {
    return this.#database.prepare('SELECT 1 FROM unindexed').get() !== undefined
  }

  page(query: BookQuery, after: Position | undefined, bounds: PageBounds): Promise<Page> {
    return readPage(this, query, after, bounds)
  }

  count(filter: BookFilter): number {
    const { where, values } = conditionOf(filter, dialect)
    const from = Object.keys(filter).length === 0 ? 'books' : 'book_keys JOIN books USING (id)'
    const row = this.#database.prepare(`SELECT count(*) AS books FROM ${from} WHERE ${where}`).get(...values)
    return Number(row?.books)
  }

  async read({ where, orderBy, values }: Run, books: number, text: number): Promise<Found[]> {
    const statement = this.#database.prepare(`
      SELECT id, title, author, year, title_key, author_key, year_key FROM book_keys JOIN books USING (id)
      WHERE ${where} ORDER BY ${orderBy} LIMIT ?`)
    const found: Found[] = []
    let room = text
    for (const row of statement.iterate(...values, books)) {
      const { id, title, author, year, title_key, author_key, year_key } = row as unknown as Row
      const book = { id, title, author, year }
      found.push({ book, key: { id, title: title_key, author: author_key, year: year_key } })
      room -= Buffer.byteLength(title) + Buffer.byteLength(author)
      if (room <= 0) break
    }
    return found
  }

  async keyAt({ where, values }: Condition, field: SortField, number: number): Promise<Value | undefined> {
    const statement = this.#database.prepare(`
      SELECT ${dialect.key(field.name)} AS key FROM book_keys JOIN books USING (id)
      WHERE ${where} ORDER BY ${orderBy([field], dialect)} LIMIT 1 OFFSET ?`)
    return statement.get(...values, number - 1)?.key as Value | undefined
  }
}

interface Row extends Book {
  readonly title_key: string
  readonly author_key: string
  readonly year_key: number
}
