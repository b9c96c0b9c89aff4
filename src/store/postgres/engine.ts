import type pg from 'pg'
import { type Book, FIELD_NAMES, type FieldValue, fieldValues, isTextField } from '../../catalogue/book.ts'
import { wordsOfBook } from '../../catalogue/search-words.ts'
import type { Store } from '../../catalogue/store.ts'
import { connect, type OpenOptions } from '../client-server/connect.ts'
import { isForReads, nameOf } from '../client-server/hosts.ts'
import { ANY_BOOK, BOOK, selectListPage } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import { type ServerEngine, ServerStore } from '../client-server/store.ts'
import { postgresBatches } from './batches.ts'
import { dialect, exactly } from './dialect.ts'
import { isReadOnly, PostgresDriver } from './driver.ts'
import { postgresImport } from './import.ts'
import { ensureSchema, isEmpty, type Schema } from './schema.ts'
import { fingerprint, postgresSearchIndex, vectorOf, WORDS, WORDS_OF } from './search-index.ts'
import type { PostgresTarget } from './url.ts'
import { serverTime, writtenInTime } from './write-deadline.ts'

/** The placeholders of the fields come first in each statement. */
const FIELDS = FIELD_NAMES.map((name, i) => `$${i + 1}::${isTextField(name) ? 'text' : 'bigint'}`)
const NEXT = FIELDS.length + 1

const INSERT = `
  INSERT INTO books (${FIELD_NAMES}) SELECT ${FIELDS} WHERE ${writtenInTime(NEXT)} RETURNING ${BOOK}`
const INSERT_WITH_WORDS = `
  INSERT INTO books (${FIELD_NAMES}, ${WORDS}, ${WORDS_OF})
  SELECT ${FIELDS}, $${NEXT + 1}::tsvector, ${fingerprint('$1::text', '$2::text')} WHERE ${writtenInTime(NEXT)}
  RETURNING ${BOOK}`
const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`
const SET = `
  UPDATE books SET ${FIELD_NAMES.map((name, i) => `${name} = coalesce($${i + 1}, ${name})`)}
  WHERE id = $${NEXT}::bigint AND ${writtenInTime(NEXT + 1)}`
const UPDATE = `${SET} RETURNING ${BOOK}`
const DELETE = `DELETE FROM books WHERE id = $1::bigint AND ${writtenInTime(2)}`

/** @param first the number of the first placeholder. */
const IS_EXPECTED = (first: number) =>
  FIELD_NAMES.map((name, i) => `${exactly(name)} = $${first + i}`).join(' AND ')
const UPDATE_EXPECTED = `${SET} AND ${IS_EXPECTED(NEXT + 2)} RETURNING ${BOOK}`
const DELETE_EXPECTED = `${DELETE} AND ${IS_EXPECTED(3)}`

/**
 * Connects to a PostgreSQL server, or a compatible one. Waits if the server is not ready yet.
 * @param latest returns the target of each new connection.
 * @throws StoreNotOpened
 */
export async function openPostgres(
  target: PostgresTarget,
  latest: () => PostgresTarget,
  options: OpenOptions,
): Promise<Store> {
  const name = `the PostgreSQL server at ${nameOf(target)}`
  const prepare = (pool: ConnectionPool<pg.Client>) => ensureSchema(pool, options.report)
  const [pool, schema] = await connect(
    { name, driver: new PostgresDriver(target, latest), isEmpty, prepare },
    options,
  )
  return new ServerStore(pool, postgresEngine(schema, isForReads(target)), options.report)
}

/**
 * Each operation on one book is one statement in a transaction of its own, without a name and without any state of a
 * session. So it works through a pooler that gives every transaction another connection.
 */
const postgresEngine = (schema: Schema, isForReads: boolean): ServerEngine<pg.Client> => ({
  batches: postgresBatches(schema),
  searchIndex: schema.hasWords ? postgresSearchIndex : undefined,
  createsWords: (book) => schema.hasWords && hasShortTexts(book),
  dialect: () => dialect,
  importOn: (client) => postgresImport(client, schema),
  list: selectListPage('$1::bigint'),

  ready: async (client) => !(await isReadOnly(client, ANY_BOOK)) || isForReads,

  async create(client, book, end) {
    const values = [...fieldValues(book), serverTime(client, end)]
    const { rows } =
      schema.hasWords && hasShortTexts(book)
        ? await run(client, INSERT_WITH_WORDS, [...values, vectorOf(wordsOfBook(book))])
        : await run(client, INSERT, values)
    if (rows[0] === undefined) throw new Error('INSERT returned no row')
    return rows[0]
  },

  async find(client, id) {
    return (await run(client, SELECT, [id])).rows[0]
  },

  async update(client, { id, changes, expected }, end) {
    const values = [...FIELD_NAMES.map((name) => changes[name]), id, serverTime(client, end)]
    const { rows } =
      expected === undefined
        ? await run(client, UPDATE, values)
        : await run(client, UPDATE_EXPECTED, [...values, ...fieldValues(expected)])
    return rows[0]
  },

  async delete(client, { id, expected }, end) {
    const values = [id, serverTime(client, end)]
    const { rowCount } =
      expected === undefined
        ? await run(client, DELETE, values)
        : await run(client, DELETE_EXPECTED, [...values, ...fieldValues(expected)])
    return rowCount === 1
  },

  async query(client, sql, values) {
    return (await run(client, sql, values)).rows
  },
})

function run(
  client: pg.Client,
  sql: string,
  values: readonly (FieldValue | undefined)[],
): Promise<pg.QueryResult<Book>> {
  return client.query<Book>(sql, values.slice())
}
