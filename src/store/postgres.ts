import type pg from 'pg'
import type { Book, BookChanges, NewBook } from '../book.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { isNotReady, isRolledBack, isUnavailable, PostgresDriver } from './postgres-connection.ts'
import { ensureSchema } from './postgres-schema.ts'
import type { PostgresTarget } from './postgres-url.ts'
import { type OpenOptions, openPool } from './server-start.ts'
import { attempt, BOOK, fieldsOf, pages, SELECT_PAGE } from './server-store.ts'
import type { Store } from './store.ts'

const INSERT = `INSERT INTO books (title, author, year) VALUES ($1, $2, $3) RETURNING ${BOOK}`
const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`
const SET = `
  UPDATE books SET title = coalesce($1, title), author = coalesce($2, author), year = coalesce($3, year)
  WHERE id = $4::bigint`
const UPDATE = `${SET} RETURNING ${BOOK}`
const DELETE = 'DELETE FROM books WHERE id = $1::bigint'
const PAGE = SELECT_PAGE('$1::bigint')

/** Compares texts byte for byte, whatever the collation of their columns. @param n the first of three placeholders. */
const IS_EXPECTED = (n: number) => `
  COALESCE(title, '') COLLATE "C" = $${n} AND COALESCE(author, '') COLLATE "C" = $${n + 1}
  AND COALESCE(year, 0) = $${n + 2}`
const UPDATE_EXPECTED = `${SET} AND ${IS_EXPECTED(5)} RETURNING ${BOOK}`
const DELETE_EXPECTED = `${DELETE} AND ${IS_EXPECTED(2)}`

/**
 * Connects to a PostgreSQL server, or one that is compatible, waiting for it if it is not ready yet.
 * @throws StoreNotOpened
 */
export async function openPostgres(target: PostgresTarget, options: OpenOptions): Promise<Store> {
  const name = `the PostgreSQL server at ${target.host ?? process.env.PGHOST ?? 'localhost'}`
  const server = { name, driver: new PostgresDriver(target), ensureSchema, isNotReady }
  return new PostgresStore(await openPool(server, options))
}

/**
 * Each operation is one statement in a transaction of its own, without a name and without anything that a session
 * would have to remember: so it works through a pooler that gives every transaction another connection.
 */
class PostgresStore implements Store {
  readonly #pool: ConnectionPool<pg.Client>

  constructor(pool: ConnectionPool<pg.Client>) {
    this.#pool = pool
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const { rows } = await this.#query(INSERT, [title, author, year])
    if (rows[0] === undefined) throw new Error('INSERT returned no row')
    return rows[0]
  }

  async find(id: number): Promise<Book | undefined> {
    const { rows } = await this.#query(SELECT, [id])
    return rows[0]
  }

  list(): AsyncIterable<string> {
    return pages(async (after, time) => (await this.#query(PAGE, [after], time)).rows)
  }

  async update(id: number, { title, author, year }: BookChanges, expected?: Book): Promise<Book | undefined> {
    const values = [title, author, year, id]
    const { rows } =
      expected === undefined
        ? await this.#query(UPDATE, values)
        : await this.#query(UPDATE_EXPECTED, [...values, ...fieldsOf(expected)])
    return rows[0]
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    const { rowCount } =
      expected === undefined
        ? await this.#query(DELETE, [id])
        : await this.#query(DELETE_EXPECTED, [id, ...fieldsOf(expected)])
    return rowCount === 1
  }

  load() {
    return this.#pool.load()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #query(
    text: string,
    values: readonly (string | number | undefined)[],
    time?: number,
  ): Promise<pg.QueryResult<Book>> {
    const faults = { isUnavailable, isRolledBack }
    return attempt(this.#pool, faults, (client) => client.query<Book>(text, values.slice()), time)
  }
}
