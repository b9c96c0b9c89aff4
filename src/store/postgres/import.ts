import type pg from 'pg'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportTransaction } from '../client-server/import.ts'
import { TITLE_KEY } from './search-index.ts'

/** The books as one value, in their order: a statement with a placeholder for each field takes twice the time. */
const BOOKS = `
  ROWS FROM (json_to_recordset($1::json) AS (id bigint, title text, author text, year bigint))
  WITH ORDINALITY AS imported (id, title, author, year, place)`

const INSERT = `
  INSERT INTO books (title, author, year) SELECT title, author, year FROM ${BOOKS} ORDER BY place`
const INSERT_WITH_IDS = `
  INSERT INTO books (id, title, author, year) SELECT id, title, author, year FROM ${BOOKS} ORDER BY place`
const IMPORTED_TITLE_KEY = TITLE_KEY.replace('title', 'imported.title')
const IS_EQUAL = `
  coalesce(books.year, 0) = imported.year AND coalesce(books.title, '') COLLATE "C" = imported.title
  AND coalesce(books.author, '') COLLATE "C" = imported.author AND books.id + 0 <= $2::bigint`

/** @param equal selects a book that equals the imported one. */
const insertNew = (equal: string) => `
  INSERT INTO books (title, author, year) SELECT title, author, year FROM ${BOOKS}
  WHERE NOT EXISTS (${equal}) ORDER BY place`

const INSERT_NEW = insertNew(`SELECT FROM books WHERE ${IS_EQUAL}`)

/**
 * As a join, planned with statistics of when the table was empty, it would read all books for each that is imported.
 * OFFSET 0 has the server look up one by one; the order has it do so in an index that begins with title, or year and
 * title, and the sum above not in that of ids.
 */
const INSERT_NEW_BY_KEYS = insertNew(`
  SELECT FROM books WHERE ${IS_EQUAL} AND (${TITLE_KEY}) BETWEEN (${IMPORTED_TITLE_KEY}) AND (${IMPORTED_TITLE_KEY})
  ORDER BY ${TITLE_KEY}, books.id OFFSET 0`)

/** Leaves the sequence alone where it is ahead already. */
const CONTINUE_IDS = `
  SELECT setval(pg_get_serial_sequence('books', 'id'), greatest(
    (SELECT max(id) FROM books), nextval(pg_get_serial_sequence('books', 'id'))))`

/** @param hasKeys whether the keys of orders are indexed. */
export function postgresImport(client: pg.Client, hasKeys: boolean): ImportTransaction {
  const insert = async (sql: string, books: readonly ImportedBook[], ...values: number[]) =>
    (await client.query(sql, [JSON.stringify(books), ...values])).rowCount ?? 0
  const number = async (sql: string) =>
    Number((await client.query<{ value: number | null }>(sql)).rows[0]?.value ?? 0)
  return {
    begin: () => client.query('BEGIN'),
    highestId: () => number('SELECT max(id) AS value FROM books'),
    insert: (books, above) =>
      above === undefined
        ? insert(INSERT, books)
        : insert(hasKeys ? INSERT_NEW_BY_KEYS : INSERT_NEW, books, above),
    insertWithIds: (books) => insert(INSERT_WITH_IDS, books),
    count: () => number('SELECT count(*) AS value FROM books'),
    continueIds: () => client.query(CONTINUE_IDS),
    commit: () => client.query('COMMIT'),
    rollback: () => client.query('ROLLBACK'),
  }
}
