import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { Book, BookChanges, NewBook } from '../book.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { isNotReady, isRolledBack, isUnavailable, MysqlDriver } from './mysql-connection.ts'
import { ensureSchema } from './mysql-schema.ts'
import type { MysqlTarget } from './mysql-url.ts'
import { type OpenOptions, openPool } from './server-start.ts'
import { attempt, BOOK, fieldsOf, pages, SELECT_PAGE } from './server-store.ts'
import type { Store } from './store.ts'

type Values = (string | number | null)[]

/** A number is sent as a double, whatever it is compared with. */
const INTEGER = 'CAST(? AS SIGNED)'

const INSERT = 'INSERT INTO books (title, author, year) VALUES (?, ?, ?)'
const SELECT = `SELECT ${BOOK} FROM books WHERE id = ${INTEGER}`
const UPDATE = `
  UPDATE books SET title = COALESCE(?, title), author = COALESCE(?, author), year = COALESCE(?, year)
  WHERE id = ${INTEGER}`
const DELETE = `DELETE FROM books WHERE id = ${INTEGER}`
const PAGE = SELECT_PAGE(INTEGER)

/** Compares texts byte for byte: every collation that all servers have would at least ignore spaces at the end. */
const IS_EXPECTED = `
  CAST(COALESCE(title, '') AS BINARY) = CAST(? AS BINARY)
  AND CAST(COALESCE(author, '') AS BINARY) = CAST(? AS BINARY) AND COALESCE(year, 0) = ${INTEGER}`
const UPDATE_EXPECTED = `${UPDATE} AND ${IS_EXPECTED}`
const DELETE_EXPECTED = `${DELETE} AND ${IS_EXPECTED}`

/**
 * Connects to a MySQL or MariaDB server, or one that is compatible, waiting for it if it is not ready yet.
 * @throws StoreNotOpened
 */
export async function openMysql(target: MysqlTarget, options: OpenOptions): Promise<Store> {
  const name = `the MySQL server at ${target.socket ?? target.host}`
  const server = { name, driver: new MysqlDriver(target), ensureSchema, isNotReady }
  return new MysqlStore(await openPool(server, options))
}

/** Only what MySQL, MariaDB and TiDB share: no RETURNING, so an update reads the book again before it commits. */
class MysqlStore implements Store {
  readonly #pool: ConnectionPool<Connection>

  constructor(pool: ConnectionPool<Connection>) {
    this.#pool = pool
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const { insertId } = await this.#use((connection) => write(connection, INSERT, [title, author, year]))
    // As it is read back: −0 is stored as 0.
    return { id: insertId, title, author, year: year + 0 }
  }

  find(id: number): Promise<Book | undefined> {
    return this.#use((connection) => read(connection, id))
  }

  list(): AsyncIterable<string> {
    return pages((after, time) =>
      this.#use(async (connection) => {
        const [rows] = await connection.execute<(Book & RowDataPacket)[]>(PAGE, [after])
        return rows
      }, time),
    )
  }

  update(id: number, { title, author, year }: BookChanges, expected?: Book): Promise<Book | undefined> {
    return this.#use(async (connection) => {
      await connection.beginTransaction()
      const values = [title ?? null, author ?? null, year ?? null, id]
      const { affectedRows } =
        expected === undefined
          ? await write(connection, UPDATE, values)
          : await write(connection, UPDATE_EXPECTED, [...values, ...fieldsOf(expected)])
      // The row stays locked until the end, so what is read is what this update made. Without one nothing is read,
      // which might be a book that was created just now. (Rows found count as affected, changed or not.)
      const book = affectedRows === 0 ? undefined : await read(connection, id)
      await connection.commit()
      return book
    })
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    const { affectedRows } = await this.#use((connection) =>
      expected === undefined
        ? write(connection, DELETE, [id])
        : write(connection, DELETE_EXPECTED, [id, ...fieldsOf(expected)]),
    )
    return affectedRows === 1
  }

  load() {
    return this.#pool.load()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #use<Result>(work: (connection: Connection) => Promise<Result>, time?: number): Promise<Result> {
    return attempt(this.#pool, { isUnavailable, isRolledBack }, work, time)
  }
}

async function read(connection: Connection, id: number): Promise<Book | undefined> {
  const [rows] = await connection.execute<(Book & RowDataPacket)[]>(SELECT, [id])
  return rows[0]
}

async function write(connection: Connection, statement: string, values: Values): Promise<ResultSetHeader> {
  const [result] = await connection.execute<ResultSetHeader>(statement, values)
  return result
}
