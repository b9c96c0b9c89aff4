import type { Connection } from 'mysql2/promise'
import { INDEXED_FIELDS } from '../../catalogue/book.ts'
import { SEARCHED_LENGTH, WORDS_VERSION, wordsOfBook } from '../../catalogue/search-words.js'
import { COMPARED_LENGTH } from '../../catalogue/sort-key.ts'
import { byId } from '../client-server/batches.ts'
import { KEY_COLUMNS, KEYS_DUE, keysOf, textsUpTo } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import {
  type BookIndex,
  type IndexEntry,
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

export const mysqlSearchIndex = (pool: ConnectionPool<Connection>): BookIndex =>
  indexOf(pool, WORDS_DUE, SEARCHED_LENGTH, wordsOfBook, async (connection, entries, ids) => {
    await connection.query(`DELETE FROM ${WORDS} WHERE book IN (?)`, [ids])
    const rows = entries.flatMap(({ id, values }) => values.map((word) => [id, Buffer.from(word)]))
    for (let i = 0; i < rows.length; i += WORDS_AT_ONCE)
      await connection.query(`INSERT INTO ${WORDS} (book, word) VALUES ?`, [rows.slice(i, i + WORDS_AT_ONCE)])
    await connection.query(`UPDATE books SET ${WORDS_OF} = ${FINGERPRINT} WHERE id IN (?)`, [ids])
  })

export const mysqlKeyIndex = (pool: ConnectionPool<Connection>): BookIndex =>
  indexOf(pool, KEYS_DUE, COMPARED_LENGTH, keysOf, async (connection, entries, ids) => {
    const set = INDEXED_FIELDS.map((name) => `${KEY_COLUMNS[name]} = ${caseOfId(ids)}`)
    const values = INDEXED_FIELDS.flatMap((_, i) => entries.flatMap(({ id, values }) => [id, values[i]]))
    await connection.query(`UPDATE books SET ${set} WHERE id IN (?)`, [...values, ids])
  })

/** @param due the column that marks stale books. @param length of the texts that are indexed, in characters. */
function indexOf(
  pool: ConnectionPool<Connection>,
  due: string,
  length: number,
  valuesOf: BookIndex['valuesOf'],
  store: (connection: Connection, entries: readonly IndexEntry[], ids: readonly number[]) => Promise<unknown>,
): BookIndex {
  // Without the hint, the server may read the whole table in the order of ids.
  const selectStale = `
    SELECT id, ${textsUpTo(length)}, ${FINGERPRINT} AS fingerprint, ${IS_READ_ONLY} AS isReadOnly
    FROM books FORCE INDEX (books_by_${due}) WHERE ${due} = 1 AND id > ? ORDER BY id LIMIT ${STALE_BOOKS}`
  const lockStale = `
    SELECT id, ${FINGERPRINT} AS fingerprint FROM books WHERE id IN (?) AND ${due} = 1 ORDER BY id FOR UPDATE`
  return {
    valuesOf,
    isRefused: (error) => pool.hasDoneNothing(error),
    stale: (after) => pool.run((connection) => rowsOf<StaleBook>(connection, selectStale, [after])),
    store: (entries) =>
      pool.run(async (connection) => {
        await connection.beginTransaction()
        const locked = byId(await rowsOf<StaleBook>(connection, lockStale, [entries.map(({ id }) => id)]))
        const current = entries.filter(({ id, fingerprint }) => locked.get(id)?.fingerprint === fingerprint)
        const ids = current.map(({ id }) => id)
        if (ids.length > 0) await store(connection, current, ids)
        await connection.commit()
        return ids.length
      }),
  }
}

/** An expression with two parameters for each book: its id and the value. */
export const caseOfId = (ids: readonly number[]) => `CASE id ${'WHEN ? THEN ? '.repeat(ids.length)}END`
