import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { Book, BookChanges } from '../../catalogue/book.ts'
import type { Store } from '../../catalogue/store.ts'
import { type OpenOptions, openPool } from '../client-server/connect.ts'
import { BOOK, selectListPage } from '../client-server/page-sql.ts'
import { fieldsOf, type ServerEngine, ServerStore } from '../client-server/store.ts'
import { enlargeFiles } from '../mysql-files.ts'
import { ensureSchema } from '../mysql-schema.ts'
import type { Value } from '../query/dialect.ts'
import { dialectOf, findRareWords } from './dialect.ts'
import { isNotReady, isReadOnly, isRolledBack, isUnavailable, MysqlDriver, rolledBack } from './driver.ts'
import { Room } from './full-disk.ts'
import { mysqlImport } from './import.ts'
import { ensureMysqlAdditions } from './schema.ts'
import { mysqlWords } from './search-index.ts'
import type { MysqlTarget } from './url.ts'

/** A number is sent as a double, whatever it is compared with. */
const INTEGER = 'CAST(? AS SIGNED)'

const INSERT = 'INSERT INTO books (title, author, year) VALUES (?, ?, ?)'
const SELECT = `SELECT ${BOOK} FROM books WHERE id = ${INTEGER}`
const UPDATE = `
  UPDATE books SET title = COALESCE(?, title), author = COALESCE(?, author), year = COALESCE(?, year)
  WHERE id = ${INTEGER}`
const DELETE = `DELETE FROM books WHERE id = ${INTEGER}`
const DELETE_WITH_WORDS = `
  DELETE books, book_words FROM books LEFT JOIN book_words ON book = books.id WHERE books.id = ${INTEGER}`

const NO_WORDS = { whole: undefined, beginning: undefined }

/** Compares texts byte for byte: every collation that all servers have would at least ignore spaces at the end. */
const IS_EXPECTED = `
  CAST(COALESCE(title, '') AS BINARY) = CAST(? AS BINARY)
  AND CAST(COALESCE(author, '') AS BINARY) = CAST(? AS BINARY) AND COALESCE(year, 0) = ${INTEGER}`
const UPDATE_EXPECTED = `${UPDATE} AND ${IS_EXPECTED}`

/**
 * Connects to a MySQL or MariaDB server, or one that is compatible, waiting for it if it is not ready yet.
 * @throws StoreNotOpened
 */
export async function openMysql(target: MysqlTarget, options: OpenOptions): Promise<Store> {
  const name = `the MySQL server at ${target.socket ?? target.host}`
  const server = { name, driver: new MysqlDriver(target), ensureSchema, isNotReady }
  const pool = await openPool(server, options)
  const { keys, words } = await ensureMysqlAdditions(pool, options.report)
  // Afterwards, because additions write the table anew.
  await enlargeFiles(pool)
  return new ServerStore(pool, mysqlEngine(keys, words, new Room()), options.report)
}

/**
 * Only what MySQL, MariaDB and TiDB share: no RETURNING, so an update reads the book again before it commits.
 * @param hasKeys whether the table has columns for the keys of orders.
 * @param hasWords whether the words of books are indexed.
 */
const mysqlEngine = (hasKeys: boolean, hasWords: boolean, room: Room): ServerEngine<Connection> => ({
  faults: { isUnavailable, isRolledBack, isReadOnly },
  words: hasWords ? mysqlWords : undefined,
  createsWords: () => false,
  dialect: async (words, query) => dialectOf(hasKeys, words ? await findRareWords(words, query) : NO_WORDS),
  importOn: (connection) => mysqlImport(connection, hasKeys),
  find: read,
  list: selectListPage(INTEGER, INTEGER),
  query,

  async create(connection, { title, author, year }) {
    const { insertId } = await room.write(connection, INSERT, [title, author, year])
    // As it is read back: −0 is stored as 0.
    return { id: insertId, title, author, year: year + 0 }
  },

  async update(connection, id, changes, expected) {
    await room.ensure(connection)
    const statement = expected === undefined ? UPDATE : UPDATE_EXPECTED
    // Not within the transaction: if Galera aborts one while a statement is being prepared, MariaDB (10.11) reports
    // nothing, and runs the rest outside of it. A statement that is already prepared is not sent again.
    await connection.prepare(statement)
    await connection.prepare(SELECT)
    await connection.beginTransaction()
    const values = [changes.title ?? null, changes.author ?? null, changes.year ?? null, id]
    if (expected !== undefined) values.push(...fieldsOf(expected))
    const { affectedRows } = await room.write(connection, statement, values)
    // The row stays locked until the end, so what is read is what this update made. Without one nothing is read,
    // which might be a book that was created just now. (Rows found count as affected, changed or not.)
    const book = affectedRows === 0 ? undefined : await read(connection, id)
    if (affectedRows > 0 && !shows(book, changes))
      throw rolledBack(`book ${id} lacks the change just made to it`)
    await connection.commit()
    return book
  },

  async delete(connection, id, expected) {
    const statement = hasWords ? DELETE_WITH_WORDS : DELETE
    const { affectedRows } =
      expected === undefined
        ? await room.write(connection, statement, [id])
        : await room.write(connection, `${statement} AND ${IS_EXPECTED}`, [id, ...fieldsOf(expected)])
    // Those of its words count too.
    return affectedRows > 0
  },
})

/** Whether the changes are in the book. If not, the transaction that made them is gone, whatever the server says. */
function shows(book: Book | undefined, { title, author, year }: BookChanges): boolean {
  const has = <Value>(value: Value, change: Value | undefined) => change === undefined || value === change
  return book !== undefined && has(book.title, title) && has(book.author, author) && has(book.year, year)
}

async function read(connection: Connection, id: number): Promise<Book | undefined> {
  const [rows] = await connection.execute<(Book & RowDataPacket)[]>(SELECT, [id])
  return rows[0]
}

/**
 * Runs a statement of a query. Not a prepared one, which the server would keep, of ever more different ones; texts are
 * written as bytes in hexadecimal digits, in which nothing needs an escape.
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
