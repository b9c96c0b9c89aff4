import type pg from 'pg'
import {
  type Book,
  changedFields,
  FIELD_NAMES,
  type FieldName,
  type FieldValue,
  fieldValues,
  type IndexedField,
  isIndexedField,
} from '../../catalogue/book.ts'
import type { Store } from '../../catalogue/store.ts'
import { connect, type OpenOptions } from '../client-server/connect.ts'
import { isForReads, nameOf } from '../client-server/hosts.ts'
import { ANY_BOOK, BOOK } from '../client-server/page-sql.ts'
import type { Runner } from '../client-server/pool.ts'
import { writesNothing } from '../client-server/rights.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import { KEY_COLUMNS, keysOf } from '../client-server/sort-keys.ts'
import { type ServerEngine, ServerStore } from '../client-server/store.ts'
import { assignments } from '../query/dialect.ts'
import { postgresBatches } from './batches.ts'
import { dialectOf, isEqual, typeOf } from './dialect.ts'
import { isReadOnly, PostgresDriver } from './driver.ts'
import { Extras } from './extras.ts'
import { postgresImport } from './import.ts'
import { ensureSchema, LIMITS, lackedRights, type Schema } from './schema.ts'
import { postgresSearchIndex, wordsOf } from './search-index.ts'
import { postgresKeyIndex } from './sort-keys.ts'
import { serverTime, writtenInTime } from './transactions.ts'
import type { PostgresTarget } from './url.ts'

const NEXT = FIELD_NAMES.length + 1

/** The placeholders of the fields come first. */
const insert = (extras: Extras) => `
  INSERT INTO books (${[...FIELD_NAMES, ...extras.columns]})
  SELECT ${[...FIELD_NAMES, ...extras.values('new')]}
  FROM (SELECT ${[
    ...FIELD_NAMES.map((name, i) => `$${i + 1}::${typeOf(name)} AS ${name}`),
    ...extras.names.map((name, i) => `$${NEXT + 1 + i}::text AS ${name}`),
  ]}) AS new
  WHERE ${writtenInTime(NEXT)} RETURNING ${BOOK}`
const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`

/** The condition that is fulfilled by one book, in time, if it is as expected. The id and the time come first. */
const WHERE = `id = $1::bigint AND ${writtenInTime(2)}`
const isExpected = (first: number) =>
  FIELD_NAMES.map((name, i) => isEqual(name, `$${first + i}::${typeOf(name)}`)).join(' AND ')

const DELETE = `DELETE FROM books WHERE ${WHERE}`
const DELETE_EXPECTED = `${DELETE} AND ${isExpected(3)}`

/** After the id and the time come the fields, then their sort keys, then the expected book. */
function updateOf(
  fields: readonly FieldName[],
  keyed: readonly IndexedField[],
  isExpecting: boolean,
): string {
  const columns = [
    ...fields.map((name) => [name, typeOf(name)] as const),
    ...keyed.map((name) => [KEY_COLUMNS[name], 'text'] as const),
  ]
  const set = assignments(columns.map(([column, type], i) => [column, `$${3 + i}::${type}`]))
  const expected = isExpecting ? ` AND ${isExpected(3 + columns.length)}` : ''
  return `UPDATE books SET ${set} WHERE ${WHERE}${expected} RETURNING ${BOOK}`
}

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
  const prepare = (runner: Runner<pg.Client>) => ensureSchema(runner, options.report, isForReads(target))
  const [pool, schema] = await connect({ name, driver: new PostgresDriver(target, latest), prepare }, options)
  return new ServerStore(pool, postgresEngine(schema, isForReads(target)), options.report)
}

/**
 * Each operation on one book is one statement in a transaction of its own, without a name and without any state of a
 * session. So it works through a pooler that gives every transaction another connection.
 */
function postgresEngine(schema: Schema, isForReads: boolean): ServerEngine<pg.Client> {
  const { hasKeys, hasWords } = schema
  const extras = new Extras(schema)
  const INSERT = insert(extras)
  return {
    batches: postgresBatches(schema),
    searchIndex: hasWords ? postgresSearchIndex : undefined,
    keyIndex: hasKeys ? postgresKeyIndex : undefined,
    createsWords: (book) => hasWords && hasShortTexts(book),
    dialect: (_words, keys) => dialectOf(hasKeys ? keys : 'computed'),
    importOn: (client) => postgresImport(client, schema),
    // If the server's own ANALYZE ran during the import, it saw no books, and does not run again for a minute or more.
    analyze: (client) => client.query(`${LIMITS}; ANALYZE books`),

    async ready(client) {
      const readOnly = await isReadOnly(client, ANY_BOOK)
      if (isForReads) return undefined
      if (readOnly) return 'the database server is read-only'
      return writesNothing(await lackedRights(client)) ? 'the account may not write' : undefined
    },

    async create(client, book, end) {
      const stored = extras.of([book], () => [wordsOf(book)]).map(([value = null]) => value)
      const { rows } = await run(client, INSERT, [...fieldValues(book), serverTime(client, end), ...stored])
      if (rows[0] === undefined) throw new Error('INSERT returned no row')
      return rows[0]
    },

    async find(client, id) {
      return (await run(client, SELECT, [id])).rows[0]
    },

    async update(client, { id, changes, expected }, end) {
      const fields = changedFields(changes)
      const keyed = hasKeys ? fields.filter(isIndexedField) : []
      const { rows } = await run(client, updateOf(fields, keyed, expected !== undefined), [
        id,
        serverTime(client, end),
        ...fields.map((name) => changes[name] ?? null),
        ...keysOf(changes, keyed),
        ...(expected === undefined ? [] : fieldValues(expected)),
      ])
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
  }
}

function run(client: pg.Client, sql: string, values: readonly FieldValue[]): Promise<pg.QueryResult<Book>> {
  return client.query<Book>(sql, values.slice())
}
