import type { Connection, ResultSetHeader } from 'mysql2/promise'
import { FIELD_NAMES, type FieldName, identityText, isTextField, type NewBook } from '../../catalogue/book.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportMode, ImportTransaction } from '../client-server/import.ts'
import { columnOrEmpty } from '../client-server/page-sql.ts'
import type { Dialect } from '../query/dialect.ts'
import { columnsOf, valuesOf } from './books.ts'
import { dialectOf } from './dialect.ts'
import { rowsOf } from './driver.ts'
import type { Schema } from './schema.ts'

export function mysqlImport(
  connection: Connection,
  schema: Schema,
  { keepIds, hasAllKeys }: ImportMode,
): ImportTransaction {
  const columns = [...(keepIds ? ['id'] : []), ...columnsOf(schema)]
  const dialect = dialectOf(schema.yearKey, hasAllKeys ? 'stored' : 'computed')
  let stored = 0
  return {
    begin: () => connection.beginTransaction(),
    async number(sql) {
      const [row] = await rowsOf<{ value: number | null }>(connection, sql)
      return Number(row?.value ?? 0)
    },
    async insert(books, known) {
      const existing = known === undefined ? undefined : await findEqual(connection, books, known, dialect)
      const added = books.filter((book) => !existing?.has(identityText(book)))
      if (added.length === 0) return
      const rows = added.map((book) => [...(keepIds ? [book.id ?? 0] : []), ...valuesOf(schema, book)])
      // mysql2 writes the rows into the SQL text with backslash escapes, which the SQL mode of settings.ts allows.
      const sql = `INSERT INTO books (${columns}) VALUES ?`
      const [{ affectedRows }] = await connection.query<ResultSetHeader>(sql, [rows])
      stored += affectedRows
    },
    stored: async () => stored,
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

/** @returns the `identityText` of each book that exists already, with an id up to `known`; and of some other books. */
async function findEqual(
  connection: Connection,
  books: readonly ImportedBook[],
  known: number,
  { key, keyOf }: Dialect,
): Promise<ReadonlySet<string>> {
  if (books.length === 0) return new Set()
  const unique = (of: (book: NewBook) => string | number) => [...new Set(books.map(of))]
  const titles = unique(({ title }) => title).map((title) => Buffer.from(keyOf('title', String(title)) ?? ''))
  const rows = await rowsOf<FoundBook>(
    connection,
    `SELECT DISTINCT ${BYTES} FROM books WHERE ${key('title')} IN (?) AND id <= ?
     AND COALESCE(year, 0) IN (?) AND COALESCE(author, '') IN (?)`,
    [titles, known, unique(({ year }) => year), unique(({ author }) => author)],
  )
  return new Set(rows.map(identityText))
}
