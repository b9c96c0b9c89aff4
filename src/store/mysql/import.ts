import type { Connection, ResultSetHeader } from 'mysql2/promise'
import {
  FIELD_NAMES,
  type FieldName,
  type FieldValue,
  identityText,
  isTextField,
  type NewBook,
} from '../../catalogue/book.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportTransaction } from '../client-server/import.ts'
import { columnOrEmpty } from '../client-server/page-sql.ts'
import { columnsOf, valuesOf } from './books.ts'
import { dialectOf, NO_WORDS } from './dialect.ts'
import { rowsOf } from './driver.ts'
import type { Schema } from './schema.ts'

export function mysqlImport(connection: Connection, schema: Schema): ImportTransaction {
  const columns = columnsOf(schema)
  const INSERT = `INSERT INTO books (${columns}) VALUES ?`
  const INSERT_WITH_IDS = `INSERT INTO books (id, ${columns}) VALUES ?`
  // mysql2 writes the rows into the SQL text with backslash escapes, which the SQL mode of settings.ts allows.
  let stored = 0
  const insert = async (sql: string, rows: readonly FieldValue[][]) => {
    if (rows.length === 0) return
    const [{ affectedRows }] = await connection.query<ResultSetHeader>(sql, [rows])
    stored += affectedRows
  }
  const number = async (sql: string) => {
    const [row] = await rowsOf<{ value: number | null }>(connection, sql)
    return Number(row?.value ?? 0)
  }
  return {
    begin: () => connection.beginTransaction(),
    highestId: () => number('SELECT MAX(id) AS value FROM books'),
    count: () => number('SELECT COUNT(*) AS value FROM books'),
    insert: async (books, known) => {
      const existing = known === undefined ? undefined : await findEqual(connection, books, known, schema)
      const added = books.filter((book) => !existing?.has(identityText(book)))
      const rows = added.map((book) => valuesOf(schema, book))
      await insert(INSERT, rows)
    },
    async insertWithIds(books) {
      const rows = books.map((book) => [book.id ?? 0, ...valuesOf(schema, book)])
      await insert(INSERT_WITH_IDS, rows)
    },
    stored: async () => stored,
    // InnoDB continues after the highest stored id by itself.
    continueIds: async () => {},
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
  }
}

/** Texts are read as bytes, because DISTINCT would drop texts that a collation treats as equal. */
type FoundBook = Readonly<Record<FieldName, Buffer | number | null>>
const BYTES = FIELD_NAMES.map((name) => {
  const value = columnOrEmpty(name)
  return `${isTextField(name) ? `CAST(CONVERT(${value} USING utf8mb4) AS BINARY)` : value} AS ${name}`
})

/** @returns the `distinctText` of each book that exists already, with an id up to `known`; and of some other books. */
async function findEqual(
  connection: Connection,
  books: readonly ImportedBook[],
  known: number,
  { hasKeys, yearKey }: Schema,
): Promise<ReadonlySet<string>> {
  if (books.length === 0) return new Set()
  const unique = (of: (book: NewBook) => string | number) => [...new Set(books.map(of))]
  const { key, keyOf } = dialectOf(yearKey, hasKeys ? 'stored' : 'computed', NO_WORDS)
  const titles = unique(({ title }) => title).map((title) => Buffer.from(keyOf('title', String(title)) ?? ''))
  const rows = await rowsOf<FoundBook>(
    connection,
    `SELECT DISTINCT ${BYTES} FROM books WHERE ${key('title')} IN (?) AND id <= ?
     AND COALESCE(year, 0) IN (?) AND COALESCE(author, '') IN (?)`,
    [titles, known, unique(({ year }) => year), unique(({ author }) => author)],
  )
  return new Set(rows.map(identityText))
}
