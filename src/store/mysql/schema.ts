import type { Connection } from 'mysql2/promise'
import { COLUMNS, FIELD_NAMES } from '../../catalogue/book.ts'
import { StoreNotOpened } from '../../catalogue/store.ts'
import {
  bookColumnsOf,
  type Column,
  checkRights,
  ensureObjects,
  ensureTable,
  IS_LARGE,
  RIGHTS,
  type Right,
  type SchemaEditor,
  type SchemaGroup,
  type SchemaObject,
} from '../client-server/ensure-schema.ts'
import { codeOf } from '../client-server/errors.ts'
import { emptyOf, KEY_COLUMNS, KEYS_DUE } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import { LACKS_KEYS } from './dialect.ts'
import { isReadOnly, rowsOf } from './driver.ts'
import { meaningOf } from './errors.ts'
import { IS_STALE, WORDS, WORDS_DUE, WORDS_OF } from './search-index.ts'

const BOOK_COLUMNS = bookColumnsOf({
  id: {
    sql: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
    accepted: ['bigint', 'int', 'bigint unsigned', 'int unsigned'],
  },
  // MEDIUMTEXT can hold every text of a request. TEXT, with 64 KiB, cannot.
  text: { sql: 'MEDIUMTEXT', accepted: ['mediumtext utf8mb4', 'longtext utf8mb4'] },
  integer: { sql: 'BIGINT', accepted: ['bigint'] },
})
const TABLE_OPTIONS = `ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const DESCRIPTION = `
  SELECT column_name AS name, extra LIKE '%auto_increment%' AS \`generated\`,
    is_nullable = 'NO' AND column_default IS NULL AND extra NOT REGEXP 'auto_increment|generated' AS required,
    CONCAT(data_type, IF(column_type LIKE '%unsigned%', ' unsigned', ''),
      COALESCE(CONCAT(' ', character_set_name), '')) AS type
  FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'books'`

/** Why the table cannot be used: storage engines that may lose acknowledged writes. */
const FAULTS = `
  SELECT CONCAT('the table books is kept by ', engine, ', which may lose writes; it has to be InnoDB') AS fault
  FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'books'
    AND LOWER(engine) IN ('myisam', 'memory', 'aria', 'csv')`

const { title: TITLE_KEY, author: AUTHOR_KEY } = KEY_COLUMNS

/** Stands for the row format among the names of objects, and is missing while the table has an older format. */
const ROW_FORMAT = 'ROW_FORMAT'

const column = (name: string, type: string): SchemaObject => ({
  name,
  sql: `ALTER TABLE books ADD COLUMN ${name} ${type}`,
})
const index = (name: string, of: string): SchemaObject => ({
  name,
  sql: `ALTER TABLE books ADD INDEX ${name} (${of}, id)`,
})

/** The sort key of a year that may be NULL, computed and as a column. */
const YEAR = 'COALESCE(year, 0)'
const YEAR_KEY = 'year_key'

/**
 * The columns of the sort keys, which the server adds without rewriting the table; a virtual column that marks books
 * without them; and indexes for sorting and filters. No index has title and author: together they may exceed the length
 * of an index entry. A table of other programs whose years may be NULL is rewritten to add a column of years without
 * NULL. It is stored, because MariaDB (10.11) loses rows that it finds by an index of a virtual column and then sorts,
 * while other clients change them.
 */
const keyGroup = (hasNullYears: boolean): SchemaGroup => ({
  without: 'sorting and filtering are slow, and texts are sorted by code point',
  objects: [
    // In the older formats, an index entry has at most 767 bytes.
    { name: ROW_FORMAT, sql: 'ALTER TABLE books ROW_FORMAT = DYNAMIC' },
    // Before the objects below, because the server rewrites the table.
    ...(hasNullYears ? [column(YEAR_KEY, `BIGINT AS (${YEAR}) STORED`)] : []),
    {
      name: AUTHOR_KEY,
      sql: `ALTER TABLE books ${[TITLE_KEY, AUTHOR_KEY].map((name) => `ADD COLUMN ${name} VARBINARY(2000) NOT NULL DEFAULT ''`)}`,
    },
    column(KEYS_DUE, `TINYINT AS (${LACKS_KEYS}) VIRTUAL`),
    index(`books_by_${KEYS_DUE}`, KEYS_DUE),
    index(`books_by_${TITLE_KEY}`, TITLE_KEY),
    index(`books_by_${AUTHOR_KEY}`, AUTHOR_KEY),
    hasNullYears ? index('books_by_year', YEAR_KEY) : index('books_by_plain_year', 'year'),
  ],
})

/**
 * The table of words; the fingerprint of the texts that they come from; and a virtual column that marks stale books.
 * There is no FULLTEXT index, because its shortest words, stop words and word boundaries are settings of the server.
 */
const WORD_GROUP: SchemaGroup = {
  without: 'searches (q) are answered with 503',
  objects: [
    {
      name: WORDS,
      sql: `CREATE TABLE IF NOT EXISTS ${WORDS} (
        book BIGINT NOT NULL, word VARBINARY(128) NOT NULL, PRIMARY KEY (book, word), INDEX (word, book)
      ) ENGINE = InnoDB`,
    },
    column(WORDS_OF, 'VARBINARY(32)'),
    column(WORDS_DUE, `TINYINT AS (${IS_STALE}) VIRTUAL`),
    index(`books_by_${WORDS_DUE}`, WORDS_DUE),
  ],
}

const OBJECTS = `
  SELECT column_name AS name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'books'
  UNION SELECT index_name FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'books'
  UNION SELECT table_name FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = '${WORDS}'
  UNION SELECT '${ROW_FORMAT}' FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = 'books' AND row_format NOT IN ('Compact', 'Redundant')`

const NULLABLE_YEAR = `
  SELECT column_name AS name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'books' AND column_name = 'year' AND is_nullable = 'YES'`

/** The service's indexes of virtual columns. Has rows only for a large table on MariaDB: see `addColumns`. */
const DUE_INDEXES = `
  SELECT index_name AS name, column_name AS \`column\` FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'books' AND index_name LIKE 'books\\_%\\_due' AND seq_in_index = 1
    AND VERSION() LIKE '%MariaDB%' AND ${IS_LARGE}`

const editor: SchemaEditor<Connection> = {
  columns: (connection) => rowsOf<Column>(connection, DESCRIPTION),
  objects: (connection) => readNames(connection, OBJECTS),
  async execute(connection, sql) {
    if (sql.includes(`EXISTS ${WORDS} `)) await forgetFingerprints(connection)
    await (ADDS_PLAIN.test(sql) ? addColumns : alter)(connection, sql)
  },
  meaningOf,
  async administration(connection) {
    const sql = 'SELECT DATABASE() AS `database`, CURRENT_USER() AS account'
    const [row] = await rowsOf<{ database: string; account: string }>(connection, sql)
    const { database = '', account = '' } = row ?? {}
    const [, user, host] = /^(.*)@(.*)$/.exec(account.replaceAll("'", "''")) ?? []
    const escaped = database.replaceAll('`', '``')
    const name = `\`${escaped}\``
    // In a GRANT, _ and % in the name of a database are wildcards.
    const grant = (rights: string, table: string) => `GRANT ${rights} ON ${table} TO '${user}'@'${host}';`
    const rights = RIGHTS.join(', ')
    const tables = `${name.replace(/[_%]/g, '\\$&')}.*`
    return {
      database,
      create: grant(`${rights}, CREATE, ALTER, INDEX`, tables),
      use: grant(rights, tables),
      around: [`USE ${name};`, grant(rights, `${name}.${WORDS}`)],
    }
  },
}

/** What the database has besides the columns of the books. */
export interface Schema {
  readonly hasKeys: boolean
  readonly hasWords: boolean
  /** The SQL by which years are sorted and compared. */
  readonly yearKey: string
}

/** @throws StoreNotOpened if the table is not suitable; otherwise what mysql2 throws. */
export async function ensureSchema(
  pool: ConnectionPool<Connection>,
  report: (message: string) => void,
  isForReads: boolean,
): Promise<Schema> {
  await pool.run((connection) => ensureTable(connection, editor, BOOK_COLUMNS, TABLE_OPTIONS))
  await pool.run(async (connection) => {
    const readsOnly = isForReads || (await isReadOnly(connection))
    checkRights(await missingRights(connection), await editor.administration(connection), report, readsOnly)
  })
  const faults = await pool.run((connection) => rowsOf<{ fault: string }>(connection, FAULTS))
  for (const { fault } of faults) throw new StoreNotOpened(fault)
  const [nullable] = await pool.run((connection) => readNames(connection, NULLABLE_YEAR))
  const hasNullYears = nullable !== undefined
  const groups = [keyGroup(hasNullYears), WORD_GROUP]
  const [hasKeys = false, hasWords = false] = await ensureObjects(pool, editor, groups, report)
  const yearKey = hasKeys ? YEAR_KEY : YEAR
  return { hasKeys, hasWords, yearKey: hasNullYears ? yearKey : 'year' }
}

/**
 * Waits for the lock of the table for a second at most, because all later statements on the table wait behind it. A time
 * limit for statements does not apply: the change of a large table takes long. Only MariaDB has one for other statements
 * than SELECT, and only MariaDB executes the SQL inside the comment.
 */
async function alter(connection: Connection, sql: string): Promise<void> {
  await connection.query('SET @lock_time = @@lock_wait_timeout, lock_wait_timeout = 1')
  const results = await Promise.allSettled([
    connection.query(`/*M! SET STATEMENT max_statement_time = 0 FOR */ ${sql}`),
    connection.query('SET lock_wait_timeout = @lock_time'),
  ])
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Matches a statement that adds columns that are not generated. */
const ADDS_PLAIN = /ADD COLUMN (?!.* AS )/

/**
 * If a virtual column has an index, MariaDB rewrites the table to add a column, and writes wait (MDEV-17468). This
 * therefore drops such indexes, including those of an earlier version, and creates them again. Writes go on meanwhile.
 */
async function addColumns(connection: Connection, sql: string): Promise<void> {
  const rows = await rowsOf<{ name: string; column: string }>(connection, DUE_INDEXES)
  if (rows.length === 0) return alter(connection, sql)
  await alter(connection, `ALTER TABLE books ${rows.map(({ name }) => `DROP INDEX IF EXISTS ${name}`)}`)
  const [addition] = await Promise.allSettled([alter(connection, sql)])
  await alter(
    connection,
    `ALTER TABLE books ${rows.map(({ name, column }) => `ADD INDEX IF NOT EXISTS ${name} (${column}, id)`)}`,
  )
  if (addition.status === 'rejected') throw addition.reason
}

/** Books whose fingerprints are removed in one statement. */
const FORGOTTEN = 1000

/**
 * Before the table of words is created, marks all books as not indexed. If the table of books was restored without it,
 * they have the fingerprints of texts whose words are gone. Before, so that an interrupted start does so again.
 */
async function forgetFingerprints(connection: Connection): Promise<void> {
  if (!(await editor.objects(connection)).includes(WORDS_OF)) return
  // The account may lack the right to see the table.
  const isThere = (error?: unknown) => error === undefined || meaningOf(error).isDenied
  if (await connection.query(`SELECT 1 FROM ${WORDS} LIMIT 0`).then(() => true, isThere)) return
  const next = `SELECT MAX(id) AS id FROM (SELECT id FROM books WHERE id > ? ORDER BY id LIMIT ${FORGOTTEN}) some`
  for (let last = Number.MIN_SAFE_INTEGER; ; ) {
    const [row] = await rowsOf<{ id: number | null }>(connection, next, [last])
    if (typeof row?.id !== 'number' || row.id === last) return
    await forget(connection, last, row.id)
    last = row.id
  }
}

/** Leaves out books that the database protects. @param after the id before the first. @param last the last id. */
async function forget(connection: Connection, after: number, last: number): Promise<void> {
  try {
    await connection.query(`UPDATE books SET ${WORDS_OF} = NULL WHERE id > ? AND id <= ?`, [after, last])
  } catch (error) {
    const { outcome, reason } = meaningOf(error)
    if (outcome !== 'refused' || reason !== undefined) throw error
    if (last - after === 1) return
    const middle = Math.floor((after + last) / 2)
    await forget(connection, after, middle)
    await forget(connection, middle, last)
  }
}

/** A statement that needs each right. */
const STATEMENTS: Readonly<Record<Right, string>> = {
  SELECT: `SELECT ${COLUMNS} FROM books`,
  INSERT: `INSERT INTO books (${FIELD_NAMES}) VALUES (${FIELD_NAMES.map(emptyOf)})`,
  UPDATE: `UPDATE books SET ${FIELD_NAMES.map((name) => `${name} = ${emptyOf(name)}`)}`,
  DELETE: 'DELETE FROM books',
}

export async function missingRights(connection: Connection): Promise<Right[]> {
  const lacked: Right[] = []
  for (const right of RIGHTS) if (await isMissing(connection, right)) lacked.push(right)
  return lacked
}

/** Only prepares the statement: this needs the same right, and does not wait if others have locked the table. */
async function isMissing(connection: Connection, right: Right): Promise<boolean> {
  try {
    await connection.query('PREPARE rights FROM ?', [STATEMENTS[right]])
  } catch (error) {
    const { isDenied, reason } = meaningOf(error)
    if (isDenied) return true
    // That the server is read-only, or accepts no more prepared statements, says nothing about rights.
    if (reason !== 'read_only' && codeOf(error) !== 'ER_MAX_PREPARED_STMT_COUNT_REACHED') throw error
  }
  return false
}

const readNames = async (connection: Connection, sql: string) =>
  (await rowsOf<{ name: string }>(connection, sql)).map(({ name }) => name)
