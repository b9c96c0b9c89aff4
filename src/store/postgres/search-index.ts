import type pg from 'pg'
import { INDEXED_FIELDS, type IndexedField } from '../../catalogue/book.ts'
import { SEARCHED_LENGTH, WORDS_VERSION, wordsOfBook } from '../../catalogue/search-words.js'
import { COMPARED_LENGTH } from '../../catalogue/sort-key.ts'
import { KEY_COLUMNS, keysOf, textsUpTo } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import {
  type BookIndex,
  hasShortTexts,
  type IndexEntry,
  STALE_BOOKS,
  type StaleBook,
} from '../client-server/search-indexer.ts'
import { IS_READ_ONLY } from './driver.ts'

/** The columns with the words of a book, and with the fingerprint of the texts that they come from. */
export const WORDS = `search_words_${WORDS_VERSION}`
export const WORDS_OF = `${WORDS}_of`

/** Identifies the texts of a book; not for security. */
export const fingerprint = (title: string, author: string) => `md5(md5(${title}) || md5(${author}))`
const FINGERPRINT = fingerprint("coalesce(title, '')", "coalesce(author, '')")

const IS_STALE = `${WORDS_OF} IS DISTINCT FROM ${FINGERPRINT}`

const idIf = (condition: string) => `(CASE WHEN ${condition} THEN id END)`

/** The id of a stale book; NULL for others. */
export const STALE_ID = idIf(IS_STALE)

/** The text of a tsvector, whose limit of 1 MiB exceeds all words that are kept of a title and an author. */
export const vectorOf = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

/** The words to store with a book; null for a long one, whose words the index makes later. */
export const wordsOf = (book: Readonly<Record<IndexedField, string>>) =>
  hasShortTexts(book) ? vectorOf(wordsOfBook(book)) : null

/** The SQL of both columns. @param table has the texts of new books, and `words` as `wordsOf` makes them. */
export const wordValues = (table: string) => [
  `${table}.words::tsvector`,
  `CASE WHEN ${table}.words IS NOT NULL THEN ${fingerprint(`${table}.title`, `${table}.author`)} END`,
]

/** The condition that a book has all words. @param exact as whole words; otherwise as prefixes of words. */
export function matchesWords(
  words: readonly string[],
  exact: boolean,
  bind: (value: string) => string,
): string {
  // The words consist of letters, digits and marks, none of which is special between quotes.
  const expression = words.map((word) => `'${word}'${exact ? '' : ':*'}`).join(' & ')
  return `(${WORDS} @@ ${bind(expression)}::tsquery)`
}

export const SEPARATOR = "E'\\x01'"

/** `plainKey` in SQL. The collation C compares texts as bytes, which in UTF-8 sort like code points. */
export const plainKeyOf = (name: IndexedField) =>
  `(${SEPARATOR} || left(coalesce(${name}, ''), ${COMPARED_LENGTH})) COLLATE "C"`

/** Whether the sort keys of a book are missing or were made of other texts. A key ends with its text. */
const ARE_KEYS_DUE = `NOT (${INDEXED_FIELDS.map((name) => {
  const key = KEY_COLUMNS[name]
  return `substr(${key}, strpos(${key}, ${SEPARATOR})) = ${plainKeyOf(name)}`
}).join(' AND ')})`

/** The id of such a book; NULL for others. */
export const KEYS_DUE_ID = idIf(ARE_KEYS_DUE)

export const postgresSearchIndex = (pool: ConnectionPool<pg.Client>): BookIndex =>
  indexOf(pool, IS_STALE, SEARCHED_LENGTH, wordsOfBook, {
    set: [`${WORDS} = indexed.words::tsvector`, `${WORDS_OF} = indexed.fingerprint`],
    columns: ['words'],
    lists: (entries) => [entries.map(({ values }) => vectorOf(values))],
  })

export const postgresKeyIndex = (pool: ConnectionPool<pg.Client>): BookIndex =>
  indexOf(pool, ARE_KEYS_DUE, COMPARED_LENGTH, keysOf, {
    set: INDEXED_FIELDS.map((name) => `${KEY_COLUMNS[name]} = indexed.new_${name}`),
    columns: INDEXED_FIELDS.map((name) => `new_${name}`),
    lists: (entries) => INDEXED_FIELDS.map((_, i) => entries.map(({ values }) => values[i])),
  })

/** What an index stores in the table of books, from lists with a value for each entry. */
interface Stored {
  readonly set: readonly string[]
  /** The names of the lists, as columns of the table `indexed`. */
  readonly columns: readonly string[]
  lists(entries: readonly IndexEntry[]): unknown[][]
}

/** @param isStale the condition for stale books. @param length of the texts that are indexed, in characters. */
function indexOf(
  pool: ConnectionPool<pg.Client>,
  isStale: string,
  length: number,
  valuesOf: BookIndex['valuesOf'],
  { set, columns, lists }: Stored,
): BookIndex {
  const id = idIf(isStale)
  // In this order, the index of stale books is the only cheap plan, however many of them the planner expects.
  const selectStale = `
    SELECT id, ${textsUpTo(length)}, ${FINGERPRINT} AS fingerprint, ${IS_READ_ONLY} AS "isReadOnly"
    FROM books WHERE ${id} IS NOT NULL AND ${id} > $1::bigint ORDER BY ${id} LIMIT ${STALE_BOOKS}`
  const storeEntries = `
    UPDATE books SET ${set}
    FROM unnest($1::bigint[], $2::text[], ${columns.map((_, i) => `$${i + 3}::text[]`)})
      AS indexed (book, fingerprint, ${columns})
    WHERE books.id = indexed.book AND indexed.fingerprint = ${FINGERPRINT} AND ${isStale}`
  return {
    valuesOf,
    isRefused: (error) => pool.hasDoneNothing(error),
    stale: (after) => pool.run(async (client) => (await client.query<StaleBook>(selectStale, [after])).rows),
    store: (entries) =>
      pool.run(async (client) => {
        const texts = [entries.map(({ id }) => id), entries.map(({ fingerprint }) => fingerprint)]
        return (await client.query(storeEntries, [...texts, ...lists(entries)])).rowCount ?? 0
      }),
  }
}
