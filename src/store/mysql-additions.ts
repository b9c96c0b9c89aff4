import type { Connection, RowDataPacket } from 'mysql2/promise'
import { codeOf } from './connection-errors.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { KEYS } from './mysql-query.ts'
import { DUE } from './mysql-words.ts'
import { type AdditionGroup, ensureAdditions } from './server-additions.ts'

/** Virtual columns are computed when they are read; only their indexes take space. */
const column = (name: string, type: string, expression: string) => ({
  name,
  sql: `ALTER TABLE books ADD COLUMN ${name} ${type} AS (${expression}) VIRTUAL`,
})
const index = (name: string, columns: string) => ({
  name,
  sql: `ALTER TABLE books ADD INDEX ${name} (${columns})`,
})

const KEY_ADDITIONS: AdditionGroup = {
  purpose: 'sort and filters',
  additions: [
    column('title_key', 'VARBINARY(2000)', KEYS.title),
    index('books_by_title', 'title_key, id'),
    column('author_key', 'VARBINARY(2000)', KEYS.author),
    index('books_by_author', 'author_key, id'),
    column('year_key', 'BIGINT', KEYS.year),
    index('books_by_year', 'year_key, id'),
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
    column('search_words_due', 'TINYINT', DUE),
    index('books_words_due', 'search_words_due, id'),
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
