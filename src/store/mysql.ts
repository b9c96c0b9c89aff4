import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { Book, BookChanges, NewBook } from '../book.ts'
import type { BookFilter, BookQuery, Position } from '../book-query.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { ensureMysqlAdditions } from './mysql-additions.ts'
import { isNotReady, isRolledBack, isUnavailable, MysqlDriver } from './mysql-connection.ts'
import { mysqlImport } from './mysql-import.ts'
import { dialectOf, findRareWords } from './mysql-query.ts'
import { ensureSchema } from './mysql-schema.ts'
import type { MysqlTarget } from './mysql-url.ts'
import { mysqlWords } from './mysql-words.ts'
import type { Value } from './query-sql.ts'
import { importIntoServer } from './server-import.ts'
import { BOOK, selectListPage } from './server-page.ts'
import { ServerQueries } from './server-query.ts'
import { type OpenOptions, openPool } from './server-start.ts'
import { attempt, fieldsOf, pages } from './server-store.ts'
import { WordUpkeep } from './server-words.ts'
import type { Imported, ImportedBook, ImportOptions, Page, PageBounds, Statistics, Store } from './store.ts'

type Values = (string | number | null)[]

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
const PAGE = selectListPage(INTEGER)

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
  return new MysqlStore(pool, keys, words ? options.report : undefined)
}

/** Only what MySQL, MariaDB and TiDB share: no RETURNING, so an update reads the book again before it commits. */
class MysqlStore implements Store {
  readonly #pool: ConnectionPool<Connection>
  readonly #hasKeys: boolean
  readonly #words: WordUpkeep | undefined
  readonly #queries: ServerQueries

  /**
   * @param hasKeys whether the table has columns for the keys of orders.
   * @param report what keeps the index of words tells the operator; undefined if there is no such index.
   */
  constructor(pool: ConnectionPool<Connection>, hasKeys: boolean, report: OpenOptions['report'] | undefined) {
    this.#pool = pool
    this.#hasKeys = hasKeys
    this.#words =
      report &&
      new WordUpkeep(
        mysqlWords((work) => this.#use(work)),
        report,
      )
    this.#queries = new ServerQueries({
      dialect: async (words, query) =>
        dialectOf(hasKeys, words ? await findRareWords(words, query) : NO_WORDS),
      words: this.#words,
      use: (work, time) =>
        this.#use((connection) => work((sql, values) => query(connection, sql, values)), time),
    })
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const { insertId } = await this.#use((connection) => write(connection, INSERT, [title, author, year]))
    this.#words?.noteWrite()
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

  page(query: BookQuery, after: Position | undefined, bounds: PageBounds): Promise<Page> {
    return this.#queries.page(query, after, bounds)
  }

  count(filter: BookFilter): Promise<number> {
    return this.#queries.count(filter)
  }

  statistics(filter: BookFilter): Promise<Statistics> {
    return this.#queries.statistics(filter)
  }

  async update(id: number, { title, author, year }: BookChanges, expected?: Book): Promise<Book | undefined> {
    const updated = await this.#use(async (connection) => {
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
    this.#words?.noteWrite()
    return updated
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    const statement = this.#words ? DELETE_WITH_WORDS : DELETE
    const { affectedRows } = await this.#use((connection) =>
      expected === undefined
        ? write(connection, statement, [id])
        : write(connection, `${statement} AND ${IS_EXPECTED}`, [id, ...fieldsOf(expected)]),
    )
    // Those of its words count too.
    return affectedRows > 0
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const transactionOn = (connection: Connection) => mysqlImport(connection, this.#hasKeys)
    const faults = { isUnavailable, isRolledBack }
    const imported = await importIntoServer(this.#pool, faults, transactionOn, groups, options)
    this.#words?.noteWrite()
    return imported
  }

  load() {
    return this.#pool.load()
  }

  async close(): Promise<void> {
    await this.#words?.close()
    await this.#pool.close()
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
