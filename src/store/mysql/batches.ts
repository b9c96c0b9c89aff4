import type { Connection, RowDataPacket } from 'mysql2/promise'
import { type Book, bookOf, FIELD_NAMES, fieldValues } from '../../catalogue/book.ts'
import { type BatchStatements, changedValues, IS_SHORT, SHORT_BOOK } from '../client-server/batches.ts'
import { BOOK, type ShortBookRow } from '../client-server/page-sql.ts'
import { rolledBack } from './errors.ts'
import type { DiskFullGuard } from './full-disk.ts'
import type { Schema } from './schema.ts'

const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id IN (?)`
const INSERT = `INSERT INTO books (${FIELD_NAMES}) VALUES ? RETURNING id`
const LOCK = `SELECT ${BOOK} FROM books WHERE id IN (?) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const READ = `SELECT ${BOOK} FROM books WHERE id IN (?)`

/**
 * Looks up each book by its id. With a list of ids, the server might read the whole table, if it is small, and wait for
 * books that others have locked. (An update does not wait: it first looks whether the id of a locked book is listed.)
 */
const EACH = `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS listed STRAIGHT_JOIN books ON books.id = listed.id`
const DELETE = `DELETE books FROM ${EACH}`
const DELETE_WITH_WORDS = `DELETE books, book_words FROM ${EACH} LEFT JOIN book_words ON book = books.id`

/**
 * Statements are not prepared: Galera may abort a transaction unnoticed while a statement is prepared, and the server
 * would keep a statement for each number of books.
 */
export function mysqlBatches({ hasWords }: Schema, guard: DiskFullGuard): BatchStatements<Connection> {
  return {
    find: (connection, ids) => select<ShortBookRow>(connection, SELECT, ids),

    async create(connection, books) {
      // Only RETURNING tells which id each book has: there may be gaps between them. MySQL does not know it.
      const rows = await guard.watch(select<Pick<Book, 'id'>>(connection, INSERT, books.map(fieldValues)))
      return books.map((book, i) => rows[i] && bookOf({ ...book, id: rows[i].id }))
    },

    async begin(connection, purpose) {
      if (purpose === 'update') await guard.ensureRoom(connection)
      await connection.beginTransaction()
    },

    lock: (connection, ids) => select<Book>(connection, LOCK, ids),

    async write(connection, changes) {
      const books = changes.map(({ to }) => to)
      const ids = books.map(({ id }) => id)
      const cases = `CASE id ${'WHEN ? THEN ? '.repeat(books.length)}END`
      const set = FIELD_NAMES.map((name) => `${name} = COALESCE(${cases}, ${name})`)
      const values = FIELD_NAMES.flatMap((name) =>
        changedValues(name, changes).flatMap((value, i) => [ids[i], value]),
      )
      await guard.watch(connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids]))
      const stored = await select<Book>(connection, READ, ids)
      const byId = new Map(stored.map((book) => [book.id, book]))
      for (const book of books) {
        if (FIELD_NAMES.some((name) => byId.get(book.id)?.[name] !== book[name]))
          throw rolledBack(`book ${book.id} lacks the change just made to it`)
      }
      return stored
    },

    async remove(connection, ids) {
      await guard.watch(connection.query(hasWords ? DELETE_WITH_WORDS : DELETE, [JSON.stringify(ids)]))
      return ids
    },

    commit: (connection) => connection.commit(),
  }
}

async function select<Row>(connection: Connection, sql: string, list: readonly unknown[]): Promise<Row[]> {
  const [rows] = await connection.query<(Row & RowDataPacket)[]>(sql, [list])
  return rows
}
