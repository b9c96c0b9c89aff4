import type pg from 'pg'
import type { Book } from '../../catalogue/book.ts'
import { wordsOfBook } from '../../catalogue/search-words.ts'
import type { Store } from '../../catalogue/store.ts'
import { type OpenOptions, openPool } from '../client-server/connect.ts'
import { BOOK, selectListPage } from '../client-server/page-sql.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import { fieldsOf, type ServerEngine, ServerStore } from '../client-server/store.ts'
import { ensureSchema } from '../postgres-schema.ts'
import { isNotReady, isReadOnly, isRolledBack, isUnavailable, PostgresDriver } from './driver.ts'
import { postgresImport } from './import.ts'
import { ensurePostgresAdditions } from './schema.ts'
import { dialect, fingerprint, postgresWords, vectorOf } from './search-index.ts'
import type { PostgresTarget } from './url.ts'

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
  const { keys, words } = await ensurePostgresAdditions(pool, options.report)
  return new ServerStore(pool, postgresEngine(keys, words), options.report)
}

/**
 * Each operation is one statement in a transaction of its own, without a name and without anything that a session
 * would have to remember: so it works through a pooler that gives every transaction another connection.
 * @param hasKeys whether the keys of orders are indexed.
 * @param hasWords whether the words of books are indexed.
 */
const postgresEngine = (hasKeys: boolean, hasWords: boolean): ServerEngine<pg.Client> => ({
  faults: { isUnavailable, isRolledBack, isReadOnly },
  words: hasWords ? postgresWords : undefined,
  createsWords: (book) => hasWords && hasShortTexts(book),
  dialect: () => dialect,
  importOn: (client) => postgresImport(client, hasKeys),
  list: selectListPage('$1::bigint', '$2::bigint'),

  async create(client, book) {
    const { rows } =
      hasWords && hasShortTexts(book)
        ? await run(client, INSERT_WITH_WORDS, [...fieldsOf(book), vectorOf(wordsOfBook(book))])
        : await run(client, INSERT, fieldsOf(book))
    if (rows[0] === undefined) throw new Error('INSERT returned no row')
    return rows[0]
  },

  async find(client, id) {
    return (await run(client, SELECT, [id])).rows[0]
  },

  async update(client, id, { title, author, year }, expected) {
    const values = [title, author, year, id]
    const { rows } =
      expected === undefined
        ? await run(client, UPDATE, values)
        : await run(client, UPDATE_EXPECTED, [...values, ...fieldsOf(expected)])
    return rows[0]
  },

  async delete(client, id, expected) {
    const { rowCount } =
      expected === undefined
        ? await run(client, DELETE, [id])
        : await run(client, DELETE_EXPECTED, [id, ...fieldsOf(expected)])
    return rowCount === 1
  },

  async query(client, sql, values) {
    return (await run(client, sql, values)).rows
  },
})

function run(
  client: pg.Client,
  sql: string,
  values: readonly (string | number | undefined)[],
): Promise<pg.QueryResult<Book>> {
  return client.query<Book>(sql, values.slice())
}
