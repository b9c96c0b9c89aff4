import type { Connection, RowDataPacket } from 'mysql2/promise'
import { codeOf } from '../client-server/network-errors.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import { type AdditionGroup, ensureAdditions } from '../server-additions.ts'
import { KEYS } from './dialect.ts'
import { DUE } from './search-index.ts'

/**
 * None of both texts: two keys may be longer than an entry of an index can be. The keys are stored: with an index of a virtual column MariaDB (10.11) loses rows, when it has to sort what it found
 * and others change the rows meanwhile.
 */
const KEY_ADDITIONS: AdditionGroup = {
  purpose: 'sort and filters',
  additions: [
    {
      name: 'title_key',
      // At once, because the server writes the table anew.
      sql: `ALTER TABLE books
        ADD COLUMN title_key VARBINARY(2000) AS (${KEYS.title}) STORED,
        ADD COLUMN author_key VARBINARY(2000) AS (${KEYS.author}) STORED,
        ADD COLUMN year_key BIGINT AS (${KEYS.year}) STORED`,
    },
    { name: 'books_by_title', sql: 'ALTER TABLE books ADD INDEX books_by_title (title_key, id)' },
    { name: 'books_by_author', sql: 'ALTER TABLE books ADD INDEX books_by_author (author_key, id)' },
    { name: 'books_by_year', sql: 'ALTER TABLE books ADD INDEX books_by_year (year_key, id)' },
    {
      name: 'books_by_author_year',
      sql: 'ALTER TABLE books ADD INDEX books_by_author_year (author_key, year_key, id)',
    },
    {
      name: 'books_by_year_title',
      sql: 'ALTER TABLE books ADD INDEX books_by_year_title (year_key, title_key, id)',
    },
    {
      name: 'books_by_year_author',
      sql: 'ALTER TABLE books ADD INDEX books_by_year_author (year_key, author_key, id)',
    },
  ],
}

/**
 * The words of books; of which texts they are; and which books are due. A range of an index rather than FULLTEXT, whose
 * shortest words, stop-words and notion of a word are settings of the server.
 */
const WORD_ADDITIONS: AdditionGroup = {
  purpose: 'searches',
  additions: [
    {
      name: 'book_words',
      sql: `CREATE TABLE book_words (
        book BIGINT NOT NULL, word VARBINARY(128) NOT NULL, PRIMARY KEY (book, word), INDEX (word, book)
      ) ENGINE = InnoDB`,
    },
    {
      name: 'search_words_of',
      sql: 'ALTER TABLE books ADD COLUMN search_words_of VARBINARY(32)',
    },
    {
      name: 'search_words_due',
      sql: `ALTER TABLE books ADD COLUMN search_words_due TINYINT AS (${DUE}) VIRTUAL`,
    },
    {
      name: 'books_words_due',
      sql: 'ALTER TABLE books ADD INDEX books_words_due (search_words_due, id)',
    },
  ],
}

const EXISTING = `
  SELECT column_name AS name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'books'
  UNION SELECT index_name FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'books'
  UNION SELECT table_name FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = 'book_words'`

/** Another instance has made it at the same moment; a lock could not be had in time; deadlock. */
const LOST_RACE = [
  'ER_TABLE_EXISTS_ERROR',
  'ER_DUP_FIELDNAME',
  'ER_DUP_KEYNAME',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_DEADLOCK',
  'ER_TABLE_DEF_CHANGED',
]

/** @returns whether the table has columns for the keys of orders, and whether the words of books are indexed. */
export async function ensureMysqlAdditions(
  pool: ConnectionPool<Connection>,
  report: (message: string) => void,
): Promise<{ keys: boolean; words: boolean }> {
  const [keys = false, words = false] = await ensureAdditions(
    pool,
    {
      async existing(connection) {
        const [rows] = await connection.query<({ name: string } & RowDataPacket)[]>(EXISTING)
        return rows.map(({ name }) => name)
      },
      make: (connection, sql) => connection.query(sql),
      isLostRace: (error) => LOST_RACE.includes(codeOf(error) ?? ''),
    },
    [KEY_ADDITIONS, WORD_ADDITIONS],
    report,
  )
  return { keys, words }
}
