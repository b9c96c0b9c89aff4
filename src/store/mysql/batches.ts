import type { Connection, RowDataPacket } from 'mysql2/promise'
import {
  type Book,
  type BookChanges,
  bookOf,
  FIELD_NAMES,
  fieldValues,
  type NewBook,
  TEXT_FIELDS,
} from '../../catalogue/book.ts'
import {
  type BatchStatements,
  byId,
  type Change,
  changedValues,
  IS_SHORT,
  SHORT_BOOK,
} from '../client-server/batches.ts'
import { BOOK, type ShortBookRow } from '../client-server/page-sql.ts'
import { KEY_COLUMNS, keysOf } from '../client-server/sort-keys.ts'
import { rolledBack } from './errors.ts'
import type { DiskFullGuard } from './full-disk.ts'
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
export function mysqlBatches(schema: Schema, guard: DiskFullGuard): BatchStatements<Connection> {
  const { hasKeys, hasWords } = schema
  const INSERT = `INSERT INTO books (${columnsOf(schema)}) VALUES ? RETURNING id`
  return {
    find: (connection, ids) => select<ShortBookRow>(connection, SELECT, ids),

    async create(connection, books) {
      // Only RETURNING tells which id each book has: there may be gaps between them. MySQL does not know it.
      const rows = await guard.watch(
        select<Pick<Book, 'id'>>(
          connection,
          INSERT,
          books.map((book) => valuesOf(schema, book)),
        ),
      )
      return books.map((book, i) => rows[i] && bookOf({ ...book, id: rows[i].id }))
    },

    async begin(connection, purpose) {
      if (purpose === 'update') await guard.ensureRoom(connection)
      await connection.beginTransaction()
    },

    lock: (connection, ids) => select<Book>(connection, LOCK, ids),

    async write(connection, all) {
      const ids = all.map(({ from }) => from.id)
      const cases = `CASE id ${'WHEN ? THEN ? '.repeat(all.length)}END`
      const columns = columnsOf(schema)
      const lists = [
        ...FIELD_NAMES.map((name) => changedValues(name, all)),
        ...(hasKeys ? changedKeys(all) : []),
      ]
      const set = columns.map((name) => `${name} = COALESCE(${cases}, ${name})`)
      const values = lists.flatMap((list) => list.flatMap((value, i) => [ids[i], value]))
      await guard.watch(connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids]))
      const stored = await select<Book>(connection, READ, ids)
      const books = byId(stored)
      for (const { from, changes } of all) ensureChanged(from.id, books.get(from.id), changes)
      return stored
    },

    async remove(connection, ids) {
      await guard.watch(connection.query(hasWords ? DELETE_WITH_WORDS : DELETE, [JSON.stringify(ids)]))
      return ids
    },

    commit: (connection) => connection.commit(),
  }
}

/** The columns of a new book. */
export const columnsOf = ({ hasKeys }: Schema) =>
  hasKeys ? [...FIELD_NAMES, ...TEXT_FIELDS.map((name) => KEY_COLUMNS[name])] : FIELD_NAMES

/** The values of these columns. */
export const valuesOf = ({ hasKeys }: Schema, book: NewBook) =>
  hasKeys ? [...fieldValues(book), ...keysOf(book)] : fieldValues(book)

/** The new sort keys of each text; null where it stays as it is. */
function changedKeys(all: readonly Change[]): (string | null)[][] {
  const keys = all.map(({ changes }) => keysOf(changes))
  return TEXT_FIELDS.map((_, i) => keys.map((each) => each[i] ?? null))
}

async function select<Row>(connection: Connection, sql: string, list: readonly unknown[]): Promise<Row[]> {
  const [rows] = await connection.query<(Row & RowDataPacket)[]>(sql, [list])
  return rows
}

/** @throws if the book lacks the changes. Then the server has lost the transaction that made them, without an error. */
export function ensureChanged(id: number, book: Book | undefined, changes: BookChanges): void {
  const has = (name: keyof NewBook) => changes[name] === undefined || changes[name] === book?.[name]
  if (!FIELD_NAMES.every(has)) throw rolledBack(`book ${id} lacks the change just made to it`)
}
