import type pg from 'pg'
import type { Book, BookChanges, NewBook } from '../book.ts'
import type { BookFilter, BookQuery, Position } from '../book-query.ts'
import { wordsOfBook } from '../words.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { ensurePostgresAdditions } from './postgres-additions.ts'
import { isNotReady, isRolledBack, isUnavailable, PostgresDriver } from './postgres-connection.ts'
import { postgresImport } from './postgres-import.ts'
import { dialect, fingerprint, postgresWords, vectorOf } from './postgres-query.ts'
import { ensureSchema } from './postgres-schema.ts'
import type { PostgresTarget } from './postgres-url.ts'
import { importIntoServer } from './server-import.ts'
import { BOOK, selectListPage } from './server-page.ts'
import { ServerQueries } from './server-query.ts'
import { type OpenOptions, openPool } from './server-start.ts'
import { attempt, fieldsOf, pages } from './server-store.ts'
import { WordUpkeep } from './server-words.ts'
import type { Imported, ImportedBook, ImportOptions, Page, PageBounds, Statistics, Store } from './store.ts'

const INSERT = `INSERT INTO books (title, author, year) VALUES ($1, $2, $3) RETURNING ${BOOK}`
const INSERT_WITH_WORDS = `
  INSERT INTO books (title, author, year, search_words, search_words_of)
  VALUES ($1::text, $2::text, $3, $4::tsvector, ${fingerprint('$1::text', '$2::text')}) RETURNING ${BOOK}`
const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`
const SET = `
  UPDATE books SET title = coalesce($1, title), author = coalesce($2, author), year = coalesce($3, year)
  WHERE id = $4::bigint`
const UPDATE = `${SET} RETURNING ${BOOK}`
const DELETE = 'DELETE FROM books WHERE id = $1::bigint'
const PAGE = selectListPage('$1::bigint')

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
  const pool = await openPool(server, options)
  const { words } = await ensurePostgresAdditions(pool, options.report)
  return new PostgresStore(pool, words ? options.report : undefined)
}

/**
 * Each operation is one statement in a transaction of its own, without a name and without anything that a session
 * would have to remember: so it works through a pooler that gives every transaction another connection.
 */
class PostgresStore implements Store {
  readonly #pool: ConnectionPool<pg.Client>
  readonly #words: WordUpkeep | undefined
  readonly #queries: ServerQueries

  /** @param report what keeps the index of words tells the operator; undefined if there is no such index. */
  constructor(pool: ConnectionPool<pg.Client>, report: OpenOptions['report'] | undefined) {
    this.#pool = pool
    this.#words =
      report &&
      new WordUpkeep(
        postgresWords((work) => this.#use(work)),
        report,
      )
    this.#queries = new ServerQueries({
      dialect: () => dialect,
      words: this.#words,
      use: (work, time) =>
        this.#use(
          (client) => work(async (sql, values) => (await client.query(sql, values.slice())).rows),
          time,
        ),
    })
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const { rows } = this.#words
      ? await this.#query(INSERT_WITH_WORDS, [title, author, year, vectorOf(wordsOfBook({ title, author }))])
      : await this.#query(INSERT, [title, author, year])
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
    const values = [title, author, year, id]
    const { rows } =
      expected === undefined
        ? await this.#query(UPDATE, values)
        : await this.#query(UPDATE_EXPECTED, [...values, ...fieldsOf(expected)])
    this.#words?.noteWrite()
    return rows[0]
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    const { rowCount } =
      expected === undefined
        ? await this.#query(DELETE, [id])
        : await this.#query(DELETE_EXPECTED, [id, ...fieldsOf(expected)])
    return rowCount === 1
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const faults = { isUnavailable, isRolledBack }
    const imported = await importIntoServer(this.#pool, faults, postgresImport, groups, options)
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

  #query(
    text: string,
    values: readonly (string | number | undefined)[],
    time?: number,
  ): Promise<pg.QueryResult<Book>> {
    return this.#use((client) => client.query<Book>(text, values.slice()), time)
  }

  #use<Result>(work: (client: pg.Client) => Promise<Result>, time?: number): Promise<Result> {
    return attempt(this.#pool, { isUnavailable, isRolledBack }, work, time)
  }
}
