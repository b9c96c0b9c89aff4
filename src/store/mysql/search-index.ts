import type { Connection } from 'mysql2/promise'
import { INDEXED_FIELDS } from '../../catalogue/book.ts'
import { SEARCHED_LENGTH, WORDS_VERSION } from '../../catalogue/search-words.js'
import { COMPARED_LENGTH, textOfKey } from '../../catalogue/sort-key.ts'
import { KEY_COLUMNS, KEYS_DUE, textsUpTo } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import {
  type BookIndex,
  type BookKeys,
  STALE_BOOKS,
  type StaleBook,
} from '../client-server/search-indexer.ts'
import { IS_READ_ONLY, rowsOf } from './driver.ts'

export const WORDS = `book_words_${WORDS_VERSION}`

/** The column with the fingerprint of the texts that the words come from. */
export const WORDS_OF = `search_words_${WORDS_VERSION}_of`

/** The column that marks stale books. */
export const WORDS_DUE = `search_words_${WORDS_VERSION}_due`

/** Identifies the texts of a book; not for security. */
const FINGERPRINT = "MD5(CONCAT(MD5(COALESCE(title, '')), MD5(COALESCE(author, ''))))"

/** 1 for a stale book; NULL for others. */
export const IS_STALE = `IF(${WORDS_OF} <=> ${FINGERPRINT}, NULL, 1)`

/** Words in one INSERT. Each has at most 128 bytes, or 256 hexadecimal digits: far less than a server accepts. */
const WORDS_AT_ONCE = 2000

// Without the hint, the server may read the whole table in the order of ids.
const SELECT_STALE = `
  SELECT id, ${textsUpTo(SEARCHED_LENGTH)}, ${FINGERPRINT} AS fingerprint, ${IS_READ_ONLY} AS isReadOnly
  FROM books FORCE INDEX (books_by_${WORDS_DUE})
  WHERE ${WORDS_DUE} = 1 AND id > ? ORDER BY id LIMIT ${STALE_BOOKS}`

const LOCK = `
  SELECT id, ${FINGERPRINT} AS fingerprint FROM books
  WHERE id IN (?) AND ${WORDS_DUE} = 1 ORDER BY id FOR UPDATE`
const DELETE = `DELETE FROM ${WORDS} WHERE book IN (?)`
const INSERT = `INSERT INTO ${WORDS} (book, word) VALUES ?`
const MARK = `UPDATE books SET ${WORDS_OF} = ${FINGERPRINT} WHERE id IN (?)`

export const mysqlSearchIndex = (pool: ConnectionPool<Connection>): BookIndex =>
  indexOf(pool, SELECT_STALE, LOCK, {
    isOf: (entry, { fingerprint }) => entry.fingerprint === fingerprint,
    async store(connection, books) {
      const ids = books.map(({ id }) => id)
      await connection.query(DELETE, [ids])
      const rows = books.flatMap(({ id, words }) => words.map((word) => [id, Buffer.from(word)]))
      for (let i = 0; i < rows.length; i += WORDS_AT_ONCE)
        await connection.query(INSERT, [rows.slice(i, i + WORDS_AT_ONCE)])
      await connection.query(MARK, [ids])
    },
  })

interface Entries<Entry> {
  /** Whether an entry was made of the texts that a book has now. @param locked has the columns of `lock`. */
  isOf(entry: Entry, locked: StaleBook): boolean
  store(connection: Connection, entries: readonly Entry[]): Promise<unknown>
}

/** @param lock selects and locks those of the given books that are stale. */
function indexOf<Entry extends { readonly id: number }>(
  pool: ConnectionPool<Connection>,
  selectStale: string,
  lock: string,
  { isOf, store }: Entries<Entry>,
): BookIndex<Entry> {
  return {
    stale: (after) => pool.run((connection) => rowsOf<StaleBook>(connection, selectStale, [after])),
    store: (entries) =>
      pool.run(async (connection) => {
        await connection.beginTransaction()
        const ids = entries.map(({ id }) => id)
        const locked = new Map(
          (await rowsOf<StaleBook>(connection, lock, [ids])).map((book) => [book.id, book]),
        )
        const current = entries.filter((entry) => {
          const book = locked.get(entry.id)
          return book !== undefined && isOf(entry, book)
        })
        if (current.length > 0) await store(connection, current)
        await connection.commit()
        return current.length
      }),
  }
}

/** An expression with two parameters for each book: its id and the value. */
export const caseOfId = (ids: readonly number[]) => `CASE id ${'WHEN ? THEN ? '.repeat(ids.length)}END`

const TEXTS = textsUpTo(COMPARED_LENGTH)

// Without the hint, the server may read the whole table in the order of ids.
const SELECT_WITHOUT_KEYS = `
  SELECT id, ${TEXTS}, ${IS_READ_ONLY} AS isReadOnly
  FROM books FORCE INDEX (books_by_${KEYS_DUE}) WHERE ${KEYS_DUE} = 1 AND id > ? ORDER BY id LIMIT ${STALE_BOOKS}`

const LOCK_WITHOUT_KEYS = `SELECT id, ${TEXTS} FROM books WHERE id IN (?) AND ${KEYS_DUE} = 1 ORDER BY id FOR UPDATE`

export const mysqlKeyIndex = (pool: ConnectionPool<Connection>): BookIndex<BookKeys> =>
  indexOf(pool, SELECT_WITHOUT_KEYS, LOCK_WITHOUT_KEYS, {
    isOf: ({ keys }, book) => INDEXED_FIELDS.every((name, i) => book[name] === textOfKey(keys[i] ?? '')),
    async store(connection, books) {
      const ids = books.map(({ id }) => id)
      const set = INDEXED_FIELDS.map((name) => `${KEY_COLUMNS[name]} = ${caseOfId(ids)}`)
      const values = INDEXED_FIELDS.flatMap((_, i) => books.flatMap(({ id, keys }) => [id, keys[i]]))
      await connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids])
    },
  })
