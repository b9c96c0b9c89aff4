import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import {
  type Book,
  bookOf,
  changedFields,
  FIELD_NAMES,
  type FieldValue,
  fieldValues,
  isTextField,
} from '../../catalogue/book.ts'
import type { Store } from '../../catalogue/store.ts'
import { connect, type OpenOptions } from '../client-server/connect.ts'
import { isForReads, nameOf } from '../client-server/hosts.ts'
import { ANY_BOOK, BOOK, columnOrEmpty } from '../client-server/page-sql.ts'
import type { Runner } from '../client-server/pool.ts'
import { type ServerEngine, ServerStore } from '../client-server/store.ts'
import { assignments, type Value } from '../query/dialect.ts'
import { columnsOf, ensureChanged, mysqlBatches, valuesOf } from './batches.ts'
import { dialectOf, findRareWords, NO_WORDS } from './dialect.ts'
import { isReadOnly, MysqlDriver } from './driver.ts'
import { mysqlImport } from './import.ts'
import { ensureSchema, mayWrite, type Schema } from './schema.ts'
import { mysqlSearchIndex, WORDS } from './search-index.ts'
import { mysqlKeyIndex } from './sort-keys.ts'
import type { MysqlTarget } from './url.ts'

/** mysql2 sends every number as a double. */
const INTEGER = 'CAST(? AS SIGNED)'

const SELECT = `SELECT ${BOOK} FROM books WHERE id = ${INTEGER}`
const DELETE = `DELETE FROM books WHERE id = ${INTEGER}`
const DELETE_WITH_WORDS = `
  DELETE books, ${WORDS} FROM books LEFT JOIN ${WORDS} ON book = books.id WHERE books.id = ${INTEGER}`

/** Compares texts byte by byte. All collations that every server has ignore at least spaces at the end. */
const IS_EXPECTED = FIELD_NAMES.map((name) =>
  isTextField(name)
    ? `CAST(${columnOrEmpty(name)} AS BINARY) <=> CAST(? AS BINARY)`
    : `${columnOrEmpty(name)} <=> ${INTEGER}`,
).join(' AND ')

/**
 * Connects to a MySQL or MariaDB server, or a compatible one. Waits if the server is not ready yet.
 * @param latest returns the target of each new connection.
 * @throws StoreNotOpened
 */
export async function openMysql(
  target: MysqlTarget,
  latest: () => MysqlTarget,
  options: OpenOptions,
): Promise<Store> {
  const name = `the MySQL server at ${target.socket ?? nameOf(target)}`
  const prepare = (runner: Runner<Connection>) => ensureSchema(runner, options.report, isForReads(target))
  const [pool, schema] = await connect(
    { name, driver: new MysqlDriver(target, latest, options.timeout), prepare },
    options,
  )
  return new ServerStore(pool, mysqlEngine(schema, isForReads(target)), options.report)
}

/**
 * The statements for one book use only what MySQL, MariaDB and TiDB share: no RETURNING, so an update reads the book
 * again before it commits.
 */
function mysqlEngine(schema: Schema, isForReads: boolean): ServerEngine<Connection> {
  const { hasKeys, hasWords } = schema
  const columns = columnsOf(schema)
  const INSERT = `INSERT INTO books (${columns}) VALUES (${columns.map(() => '?')})`
  return {
    batches: mysqlBatches(schema),
    searchIndex: hasWords ? mysqlSearchIndex : undefined,
    keyIndex: hasKeys ? mysqlKeyIndex : undefined,
    createsWords: () => false,
    dialect: async (words, keys, query) =>
      dialectOf(hasKeys, keys, words ? await findRareWords(words, query) : NO_WORDS),
    importOn: (connection) => mysqlImport(connection, schema),
    find: read,
    query,

    async ready(connection) {
      const readOnly = await isReadOnly(connection, ANY_BOOK)
      if (isForReads) return undefined
      if (readOnly) return 'the database server is read-only'
      return (await mayWrite(connection)) ? undefined : 'the account may not write'
    },

    async create(connection, book) {
      const { insertId } = await write(connection, INSERT, valuesOf(schema, book))
      return bookOf({ ...book, id: insertId })
    },

    async update(connection, { id, changes, expected }) {
      const fields = changedFields(changes)
      const set = assignments(columnsOf(schema, fields).map((column) => [column, '?']))
      const isExpected = expected === undefined ? '' : `AND ${IS_EXPECTED}`
      const statement = `UPDATE books SET ${set} WHERE id = ${INTEGER} ${isExpected}`
      // Prepared before the transaction: if Galera aborts a transaction while it prepares a statement, MariaDB (10.11)
      // reports nothing and runs the rest outside of it. A statement that is already prepared is not sent again.
      await connection.prepare(statement)
      await connection.prepare(SELECT)
      await connection.beginTransaction()
      const values = [...valuesOf(schema, changes, fields), id]
      if (expected !== undefined) values.push(...fieldValues(expected))
      const { affectedRows } = await write(connection, statement, values)
      // The row stays locked until the end, so this reads the result of this update. If no row was found, nothing is
      // read: it might be a book that was created just now. (Rows that are found count as affected, changed or not.)
      const book = affectedRows === 0 ? undefined : await read(connection, id)
      if (affectedRows > 0) ensureChanged(id, book, fields, changes)
      await connection.commit()
      return book
    },

    async delete(connection, { id, expected }) {
      const statement = hasWords ? DELETE_WITH_WORDS : DELETE
      const [sql, values] =
        expected === undefined
          ? [statement, [id]]
          : [`${statement} AND ${IS_EXPECTED}`, [id, ...fieldValues(expected)]]
      await connection.prepare(sql)
      // Without a commit, a statement that hangs in between, such as in a proxy, deletes nothing when it arrives late.
      await connection.beginTransaction()
      const { affectedRows } = await write(connection, sql, values)
      await connection.commit()
      // The count includes rows of words.
      return affectedRows > 0
    },
  }
}

async function write(
  connection: Connection,
  sql: string,
  values: readonly FieldValue[],
): Promise<ResultSetHeader> {
  const [result] = await connection.execute<ResultSetHeader>(sql, values.slice())
  return result
}

async function read(connection: Connection, id: number): Promise<Book | undefined> {
  const [rows] = await connection.execute<(Book & RowDataPacket)[]>(SELECT, [id])
  return rows[0]
}

/**
 * Runs a statement of a query. It is not prepared, because the server would keep ever more different statements. Texts
 * are written as bytes in hexadecimal digits, which need no escapes.
 */
async function query(
  connection: Connection,
  sql: string,
  values: readonly Value[],
): Promise<RowDataPacket[]> {
  const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
  const [rows] = await connection.query<RowDataPacket[]>(sql, bytes)
  return rows
}
