import pg from 'pg'
import { codeOf } from '../client-server/network-errors.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import { type AdditionGroup, ensureAdditions } from '../server-additions.ts'
import { AUTHOR_KEY, DUE, TITLE_KEY, YEAR_KEY } from './search-index.ts'

/**
 * Indexes that orders and filters use, each as the statements have it. None of both texts: two keys may be longer than
 * an entry of an index can be.
 */
const KEYS: AdditionGroup = {
  purpose: 'sort and filters',
  additions: [
    { name: 'books_by_title', sql: `CREATE INDEX books_by_title ON books ((${TITLE_KEY}), id)` },
    { name: 'books_by_author', sql: `CREATE INDEX books_by_author ON books ((${AUTHOR_KEY}), id)` },
    { name: 'books_by_year', sql: `CREATE INDEX books_by_year ON books ((${YEAR_KEY}), id)` },
    {
      name: 'books_by_author_year',
      sql: `CREATE INDEX books_by_author_year ON books ((${AUTHOR_KEY}), (${YEAR_KEY}), id)`,
    },
    {
      name: 'books_by_year_title',
      sql: `CREATE INDEX books_by_year_title ON books ((${YEAR_KEY}), (${TITLE_KEY}), id)`,
    },
    {
      name: 'books_by_year_author',
      sql: `CREATE INDEX books_by_year_author ON books ((${YEAR_KEY}), (${AUTHOR_KEY}), id)`,
    },
  ],
}

/** The words of a book; of which texts they are; and which books are due, an index that is empty most of the time. */
const WORDS: AdditionGroup = {
  purpose: 'searches',
  additions: [
    { name: 'search_words', sql: 'ALTER TABLE books ADD COLUMN search_words tsvector' },
    { name: 'search_words_of', sql: 'ALTER TABLE books ADD COLUMN search_words_of text' },
    {
      name: 'books_by_words',
      // What waits to be sorted into the index is read by every search: 256 KiB at most, rather than 4 MiB.
      sql: 'CREATE INDEX books_by_words ON books USING gin (search_words) WITH (gin_pending_list_limit = 256)',
    },
    {
      name: 'books_words_due',
      sql: `CREATE INDEX books_words_due ON books ((${DUE})) WHERE ${DUE} IS NOT NULL`,
    },
  ],
}

const EXISTING = `
  SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass('books') AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = to_regclass('books') AND indisvalid`

/** Both at once are one transaction: who waits for a lock has all others wait behind it. */
const LIMITS = "SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = 0"

/** Another instance has made it at the same moment; a lock could not be had in time; deadlock. */
const LOST_RACE = ['23505', '42P07', '42701', '42710', '55P03', '40P01', '40001', 'XX000']

/** @returns whether the keys of orders are indexed, and the words of books. */
export async function ensurePostgresAdditions(
  pool: ConnectionPool<pg.Client>,
  report: (message: string) => void,
): Promise<{ keys: boolean; words: boolean }> {
  const [keys = false, words = false] = await ensureAdditions(
    pool,
    {
      existing: async (client) =>
        (await client.query<{ name: string }>(EXISTING)).rows.map(({ name }) => name),
      make: (client, sql) => client.query(`${LIMITS}; ${sql}`),
      isLostRace: (error) => error instanceof pg.DatabaseError && LOST_RACE.includes(codeOf(error) ?? ''),
    },
    [KEYS, WORDS],
    report,
  )
  return { keys, words }
}
