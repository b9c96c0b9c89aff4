import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { type Book, bookOf, FIELD_NAMES, fieldValues, type NewBook } from '../../catalogue/book.ts'
import { type Batches, foundOf, IS_SHORT, SHORT_BOOK, type ShortBookRow } from '../client-server/batches.ts'
import { BOOK } from '../client-server/page-sql.ts'
import { rolledBack } from './errors.ts'
import type { DiskFullGuard } from './full-disk.ts'
import type { Schema } from './schema.ts'

const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id IN (?)`
const INSERT = `INSERT INTO books (${FIELD_NAMES}) VALUES ? RETURNING id`

/** Locks the books that no other transaction has locked, so that nothing waits and no deadlock is possible. */
const LOCK = `SELECT ${BOOK} FROM books WHERE id IN (?) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const DELETE = 'DELETE FROM books WHERE id IN (?)'
const DELETE_WITH_WORDS =
  'DELETE books, book_words FROM books LEFT JOIN book_words ON book = books.id WHERE books.id IN (?)'

/**
 * Statements are not prepared: Galera may abort a transaction unnoticed while a statement is prepared, and the server
 * would keep a statement for each number of books.
 */
export function mysqlBatches({ hasReturning, hasWords }: Schema, guard: DiskFullGuard): Batches<Connection> {
  return {
    async create(connection, books) {
      // Only RETURNING tells which id each book has: other servers may leave gaps between them.
      if (!hasReturning) return books.map(() => undefined)
      const rows = await guard.watch(select<Pick<Book, 'id'>>(connection, INSERT, [books.map(fieldValues)]))
      return books.map((book, i) => rows[i] && { result: bookOf({ ...book, id: rows[i].id }) })
    },

    async find(connection, ids) {
      return foundOf(ids, await select<ShortBookRow>(connection, SELECT, [ids]))
    },

    async update(connection, updates) {
      await guard.ensureRoom(connection)
      await connection.beginTransaction()
      const stored = await lock(connection, updates)
      const changed = new Map<number, Book>()
      for (const { id, changes, expected } of updates) {
        const book = stored.get(id)
        if (book !== undefined && isAsExpected(book, expected))
          changed.set(id, bookOf({ ...book, ...changes }))
      }
      if (changed.size > 0) await guard.watch(write(connection, [...changed.values()]))
      await connection.commit()
      return updates.map(({ id }) => {
        const result = changed.get(id)
        return result && { result }
      })
    },

    async delete(connection, deletions) {
      await connection.beginTransaction()
      const stored = await lock(connection, deletions)
      const ids = deletions
        .filter(({ id, expected }) => isAsExpected(stored.get(id), expected))
        .map(({ id }) => id)
      if (ids.length > 0) await guard.watch(connection.query(hasWords ? DELETE_WITH_WORDS : DELETE, [ids]))
      await connection.commit()
      return deletions.map(({ id }) => (ids.includes(id) ? { result: true } : undefined))
    },
  }
}

async function select<Row>(connection: Connection, sql: string, values: unknown[]): Promise<Row[]> {
  const [rows] = await connection.query<(Row & RowDataPacket)[]>(sql, values)
  return rows
}

async function lock(connection: Connection, requests: readonly { id: number }[]): Promise<Map<number, Book>> {
  const rows = await select<Book>(connection, LOCK, [requests.map(({ id }) => id)])
  return new Map(rows.map((row) => [row.id, row]))
}

const isAsExpected = (book: Book | undefined, expected: Book | undefined) =>
  book !== undefined && (expected === undefined || FIELD_NAMES.every((name) => book[name] === expected[name]))

async function write(connection: Connection, books: readonly Book[]): Promise<void> {
  const cases = (name: keyof NewBook) => `${name} = CASE id ${'WHEN ? THEN ? '.repeat(books.length)}END`
  const values = FIELD_NAMES.flatMap((name) => books.flatMap((book) => [book.id, book[name]]))
  const sql = `UPDATE books SET ${FIELD_NAMES.map(cases)} WHERE id IN (?)`
  const [{ affectedRows }] = await connection.query<ResultSetHeader>(sql, [
    ...values,
    books.map(({ id }) => id),
  ])
  // Rows that are found count, changed or not.
  if (affectedRows !== books.length)
    throw rolledBack(`only ${affectedRows} of ${books.length} books were found again`)
}
