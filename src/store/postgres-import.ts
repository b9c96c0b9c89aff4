import type pg from 'pg'
import { TITLE_KEY } from './postgres-query.ts'
import type { ImportTransaction } from './server-import.ts'
import type { ImportedBook } from './store.ts'

/** The books as one value, in their order: a statement with a placeholder for each field takes twice the time. */
const BOOKS = `
  ROWS FROM (json_to_recordset($1::json) AS (id bigint, title text, author text, year bigint))
  WITH ORDINALITY AS imported (id, title, author, year, place)`

const INSERT = `
  INSERT INTO books (title, author, year) SELECT title, author, year FROM ${BOOKS} ORDER BY place`
const INSERT_WITH_IDS = `
  INSERT INTO books (id, title, author, year) SELECT id, title, author, year FROM ${BOOKS} ORDER BY place`
const INSERT_NEW = `
  INSERT INTO books (title, author, year) SELECT title, author, year FROM ${BOOKS}
  WHERE NOT EXISTS (
    SELECT FROM books
    WHERE ${TITLE_KEY} = ${TITLE_KEY.replace('title', 'imported.title')} AND books.id <= $2::bigint
      AND coalesce(books.title, '') COLLATE "C" = imported.title
      AND coalesce(books.author, '') COLLATE "C" = imported.author
      AND coalesce(books.year, 0) = imported.year)
  ORDER BY place`

/** Leaves the sequence alone where it is ahead already. */
const CONTINUE_IDS = `
  SELECT setval(pg_get_serial_sequence('books', 'id'), greatest(
    (SELECT max(id) FROM books), nextval(pg_get_serial_sequence('books', 'id'))))`

export function postgresImport(client: pg.Client): ImportTransaction {
  const insert = async (sql: string, books: readonly ImportedBook[], ...values: number[]) =>
    (await client.query(sql, [JSON.stringify(books), ...values])).rowCount ?? 0
  const number = async (sql: string) =>
    Number((await client.query<{ value: number | null }>(sql)).rows[0]?.value ?? 0)
  return {
    begin: () => client.query('BEGIN'),
    highestId: () => number('SELECT max(id) AS value FROM books'),
    insert: (books, above) =>
      above === undefined ? insert(INSERT, books) : insert(INSERT_NEW, books, above),
    insertWithIds: (books) => insert(INSERT_WITH_IDS, books),
    count: () => number('SELECT count(*) AS value FROM books'),
    continueIds: () => client.query(CONTINUE_IDS),
    commit: () => client.query('COMMIT'),
    rollback: () => client.query('ROLLBACK'),
  }
}
