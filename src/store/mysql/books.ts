import type { Connection, ResultSetHeader } from 'mysql2/promise'
import {
  type Book,
  type BookChanges,
  bookOf,
  changedFields,
  FIELD_NAMES,
  type FieldName,
  type FieldValue,
  isIndexedField,
  type NewBook,
} from '../../catalogue/book.ts'
import { type BookStatements, byId, type Deletion, type Update } from '../client-server/batches.ts'
import {
  BOOK,
  IS_SHORT,
  KEY_COLUMNS,
  keysOf,
  SHORT_BOOK,
  type ShortBookRow,
} from '../client-server/page-sql.ts'
import { assignments } from '../query/dialect.ts'
import { rowsOf } from './driver.ts'
import { rolledBack } from './errors.ts'
import type { Schema } from './schema.ts'
import { caseOfId, WORDS } from './search-index.ts'

const READ = `SELECT ${BOOK} FROM books WHERE id IN (?)`
const READ_SHORT = `SELECT ${SHORT_BOOK} FROM books WHERE id IN (?)`
const LOCK = `${READ} FOR UPDATE`
const LOCK_FREE = `${READ} AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`

/**
 * Looks up each book by its id. With `id IN (…)`, a DELETE on a small table may read all rows and wait for those that
 * others have locked. An UPDATE does not: it waits for a locked row only if the id of the row is in the list.
 */
const LISTED_BOOKS = `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS listed STRAIGHT_JOIN books ON books.id = listed.id`

/**
 * No statement is prepared. If Galera rolls a transaction back while MariaDB (10.11) prepares a statement in it, no
 * error is reported, and acknowledged updates were lost. The server would also keep a statement for each number of
 * books. And it may allow none (max_prepared_stmt_count), or no more because other programs have too many.
 */
export function mysqlBooks(schema: Schema): BookStatements<Connection> {
  const { hasWords } = schema
  const INSERT = `INSERT INTO books (${columnsOf(schema)}) VALUES ?`
  const deleteOf = (from: string) =>
    hasWords
      ? `DELETE books, ${WORDS} FROM ${from} LEFT JOIN ${WORDS} ON ${WORDS}.book = books.id`
      : `DELETE books FROM ${from}`
  const DELETE_EACH = deleteOf(LISTED_BOOKS)
  const DELETE_ONE = `${deleteOf('books')} WHERE books.id = ?`
  return {
    async read(connection, id) {
      return (await rowsOf<Book>(connection, READ, [[id]]))[0]
    },

    find: (connection, ids) => rowsOf<ShortBookRow>(connection, READ_SHORT, [ids]),

    async create(connection, books, _end, alone) {
      const values = books.map((book) => valuesOf(schema, book))
      const created = (id: number, book = books[0]) => bookOf({ ...(book as NewBook), id })
      if (alone) return [created((await write(connection, INSERT, [values])).insertId)]
      // Ids may have gaps, so only RETURNING tells which book has which id. MySQL does not support it.
      const rows = await rowsOf<Pick<Book, 'id'>>(connection, `${INSERT} RETURNING id`, [values])
      return rows.map(({ id }, i) => created(id, books[i]))
    },

    async update(connection, updates, end, alone) {
      await connection.beginTransaction()
      const locked = await lock(connection, updates, alone)
      const changes = updates.filter(({ id }) => locked.includes(id))
      const stored = changes.length === 0 ? [] : await change(connection, schema, changes)
      await commitBefore(end, connection)
      return stored
    },

    async delete(connection, deletions, end, alone) {
      await connection.beginTransaction()
      const ids = await lock(connection, deletions, alone)
      // Several books are deleted only on servers that support SKIP LOCKED. These support JSON_TABLE too.
      if (ids.length > 0)
        await write(connection, alone ? DELETE_ONE : DELETE_EACH, [alone ? ids[0] : JSON.stringify(ids)])
      await commitBefore(end, connection)
      return ids
    },
  }
}

/** @param end after which a client may have been told that its write has failed. The others are then done one by one. */
async function commitBefore(end: number, connection: Connection): Promise<void> {
  if (Date.now() >= end) throw rolledBack('the time of a write was over before the commit')
  await connection.commit()
}

/** @returns the ids of the books that exist and are as expected. They are locked now. */
async function lock(
  connection: Connection,
  requests: readonly Deletion[],
  alone: boolean,
): Promise<number[]> {
  const ids = requests.map(({ id }) => id)
  const locked = byId(await rowsOf<Book>(connection, alone ? LOCK : LOCK_FREE, [ids]))
  const isExpected = ({ id, expected = locked.get(id) }: Deletion) =>
    locked.has(id) && FIELD_NAMES.every((name) => locked.get(id)?.[name] === expected?.[name])
  return requests.filter(isExpected).map(({ id }) => id)
}

/** Changes the same fields of books that are locked. @returns the books as they are stored now. */
async function change(
  connection: Connection,
  schema: Schema,
  updates: readonly Update[],
): Promise<readonly Book[]> {
  const ids = updates.map(({ id }) => id)
  const fields = changedFields(updates[0]?.changes ?? {})
  const columns = columnsOf(schema, fields)
  const cases = caseOfId(ids)
  const rows = updates.map(({ changes }) => valuesOf(schema, changes, fields))
  const values = columns.flatMap((_, i) => rows.flatMap((row, j) => [ids[j], row[i]]))
  const set = assignments(columns.map((column) => [column, cases]))
  await write(connection, `UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids])
  const stored = await rowsOf<Book>(connection, READ, [ids])
  const books = byId(stored)
  for (const { id, changes } of updates) {
    // If the change is missing, the server has rolled the transaction back without an error.
    if (!fields.every((name) => changes[name] === books.get(id)?.[name]))
      throw rolledBack(`book ${id} lacks the change just made to it`)
  }
  return stored
}

/** The columns of these fields, and those of their sort keys. */
export const columnsOf = (
  { hasKeys }: Schema,
  fields: readonly FieldName[] = FIELD_NAMES,
): readonly string[] =>
  hasKeys ? [...fields, ...fields.filter(isIndexedField).map((name) => KEY_COLUMNS[name])] : fields

/** The values for the columns of `columnsOf`, in the same order. */
export function valuesOf(
  { hasKeys }: Schema,
  book: BookChanges,
  fields: readonly FieldName[] = FIELD_NAMES,
): FieldValue[] {
  const values = fields.map((name) => book[name] ?? null)
  return hasKeys ? [...values, ...keysOf(book, fields.filter(isIndexedField))] : values
}

async function write(
  connection: Connection,
  sql: string,
  values: readonly unknown[],
): Promise<ResultSetHeader> {
  const [result] = await connection.query<ResultSetHeader>(sql, values.slice())
  return result
}
