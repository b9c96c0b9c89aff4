import type pg from 'pg'
import { COLUMNS, FIELD_NAMES, isTextField } from '../../catalogue/book.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportTransaction } from '../client-server/import.ts'
import { commit } from './commit.ts'
import { exactly, TITLE_KEY } from './dialect.ts'

/** The books as one value, in their order. A placeholder for each field would take twice the time. */
const BOOKS = `
  ROWS FROM (json_to_recordset($1::json) AS (${COLUMNS.map((name) => `${name} ${isTextField(name) ? 'text' : 'bigint'}`)}))
  WITH ORDINALITY AS imported (${COLUMNS}, place)`

const INSERT = `
  INSERT INTO books (${FIELD_NAMES}) SELECT ${FIELD_NAMES} FROM ${BOOKS} ORDER BY place`
const INSERT_WITH_IDS = `
  INSERT INTO books (${COLUMNS}) SELECT ${COLUMNS} FROM ${BOOKS} ORDER BY place`
const IMPORTED_TITLE_KEY = TITLE_KEY.replace('title', 'imported.title')
const IS_EQUAL = `
  ${FIELD_NAMES.map((name) => `${exactly(name, 'books.')} = imported.${name}`).join(' AND ')} AND books.id + 0 <= $2::bigint`

/** @param equal selects a book that equals the imported one. */
const insertNew = (equal: string) => `
  INSERT INTO books (${FIELD_NAMES}) SELECT ${FIELD_NAMES} FROM ${BOOKS}
  WHERE NOT EXISTS (${equal}) ORDER BY place`

/**
 * As a join, planned with statistics from when the table was empty, it would read all books for each imported one.
 * OFFSET 0 makes the server look the books up one by one. The order makes it use an index that begins with the title,
 * or the year and title; the addition to the id above keeps it from using that of ids.
 */
const INSERT_NEW = insertNew(`
  SELECT FROM books WHERE ${IS_EQUAL} AND (${TITLE_KEY}) BETWEEN (${IMPORTED_TITLE_KEY}) AND (${IMPORTED_TITLE_KEY})
  ORDER BY ${TITLE_KEY}, books.id OFFSET 0`)

/** Never sets the sequence back. */
const CONTINUE_IDS = `
  SELECT setval(pg_get_serial_sequence('books', 'id'), greatest(
    (SELECT max(id) FROM books), nextval(pg_get_serial_sequence('books', 'id'))))`

export function postgresImport(client: pg.Client): ImportTransaction {
  const insert = async (sql: string, books: readonly ImportedBook[], ...numbers: number[]) => {
    const values = [JSON.stringify(books), ...numbers]
    const { rowCount } = await client.query(sql, values)
    // Otherwise the text would be kept while the next one is made, and become old.
    values.length = 0
    return rowCount ?? 0
  }
  const number = async (sql: string) =>
    Number((await client.query<{ value: number | null }>(sql)).rows[0]?.value ?? 0)
  return {
    begin: () => client.query('BEGIN'),
    highestId: () => number('SELECT max(id) AS value FROM books'),
    insert: (books, known) =>
      known === undefined ? insert(INSERT, books) : insert(INSERT_NEW, books, known),
    insertWithIds: (books) => insert(INSERT_WITH_IDS, books),
    count: () => number('SELECT count(*) AS value FROM books'),
    continueIds: () => client.query(CONTINUE_IDS),
    commit: () => commit(client),
    rollback: () => client.query('ROLLBACK'),
  }
}
