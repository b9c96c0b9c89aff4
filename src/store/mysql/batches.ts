import type { Connection, RowDataPacket } from 'mysql2/promise'
import {
  type Book,
  type BookChanges,
  bookOf,
  FIELD_NAMES,
  type FieldName,
  type FieldValue,
  isIndexedField,
} from '../../catalogue/book.ts'
import { type BatchStatements, byId, IS_SHORT, SHORT_BOOK } from '../client-server/batches.ts'
import { BOOK, type ShortBookRow } from '../client-server/page-sql.ts'
import { KEY_COLUMNS, keysOf } from '../client-server/sort-keys.ts'
import { assignments } from '../query/dialect.ts'
import { rolledBack } from './errors.ts'
import type { Schema } from './schema.ts'
import { WORDS } from './search-index.ts'

const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id IN (?)`
const LOCK = `SELECT ${BOOK} FROM books WHERE id IN (?) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const READ = `SELECT ${BOOK} FROM books WHERE id IN (?)`

/**
 * Looks up each book by its id. With a list of ids, the server might read the whole table, if it is small, and wait for
 * books that others have locked. (An update does not wait: it first looks whether the id of a locked book is listed.)
 */
const EACH = `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS listed STRAIGHT_JOIN books ON books.id = listed.id`
const DELETE = `DELETE books FROM ${EACH}`
const DELETE_WITH_WORDS = `DELETE books, ${WORDS} FROM ${EACH} LEFT JOIN ${WORDS} ON book = books.id`

/**
 * Statements are not prepared: Galera may abort a transaction unnoticed while a statement is prepared, and the server
 * would keep a statement for each number of books.
 */
export function mysqlBatches(schema: Schema): BatchStatements<Connection> {
  const { hasWords } = schema
  const INSERT = `INSERT INTO books (${columnsOf(schema)}) VALUES ? RETURNING id`
  return {
    find: (connection, ids) => select<ShortBookRow>(connection, SELECT, ids),

    async create(connection, books) {
      // Only RETURNING tells which id each book has: there may be gaps between them. MySQL does not know it.
      const rows = await select<Pick<Book, 'id'>>(
        connection,
        INSERT,
        books.map((book) => valuesOf(schema, book)),
      )
      return books.map((book, i) => rows[i] && bookOf({ ...book, id: rows[i].id }))
    },

    begin: (connection) => connection.beginTransaction(),

    lock: (connection, ids) => select<Book>(connection, LOCK, ids),

    async write(connection, fields, all) {
      const ids = all.map(({ to }) => to.id)
      const columns = columnsOf(schema, fields)
      const cases = `CASE id ${'WHEN ? THEN ? '.repeat(all.length)}END`
      const set = assignments(columns.map((column) => [column, cases]))
      const rows = all.map(({ to }) => valuesOf(schema, to, fields))
      const values = columns.flatMap((_, i) => rows.flatMap((row, j) => [ids[j], row[i]]))
      await connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids])
      const stored = await select<Book>(connection, READ, ids)
      const books = byId(stored)
      for (const { to } of all) ensureChanged(to.id, books.get(to.id), fields, to)
      return stored
    },

    async remove(connection, ids) {
      await connection.query(hasWords ? DELETE_WITH_WORDS : DELETE, [JSON.stringify(ids)])
      return ids
    },

    commit: (connection) => connection.commit(),
  }
}

/** The columns in which fields of a book are stored. */
export const columnsOf = (
  { hasKeys }: Schema,
  fields: readonly FieldName[] = FIELD_NAMES,
): readonly string[] =>
  hasKeys ? [...fields, ...fields.filter(isIndexedField).map((name) => KEY_COLUMNS[name])] : fields

/** The values of these columns. */
export function valuesOf(
  { hasKeys }: Schema,
  book: BookChanges,
  fields: readonly FieldName[] = FIELD_NAMES,
): FieldValue[] {
  const values = fields.map((name) => book[name] ?? null)
  return hasKeys ? [...values, ...keysOf(book, fields.filter(isIndexedField))] : values
}

async function select<Row>(connection: Connection, sql: string, list: readonly unknown[]): Promise<Row[]> {
  const [rows] = await connection.query<(Row & RowDataPacket)[]>(sql, [list])
  return rows
}

/** @throws if the book lacks the changes. Then the server has lost the transaction that made them, without an error. */
export function ensureChanged(
  id: number,
  book: Book | undefined,
  fields: readonly FieldName[],
  changes: BookChanges,
): void {
  if (!fields.every((name) => changes[name] === book?.[name]))
    throw rolledBack(`book ${id} lacks the change just made to it`)
}
