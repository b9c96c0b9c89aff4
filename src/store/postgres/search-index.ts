import type pg from 'pg'
import { INDEXED_FIELDS, type IndexedField } from '../../catalogue/book.ts'
import { SEARCHED_LENGTH, WORDS_VERSION, wordsOfBook } from '../../catalogue/search-words.js'
import { COMPARED_LENGTH } from '../../catalogue/sort-key.ts'
import { KEY_COLUMNS, textsUpTo } from '../client-server/page-sql.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import {
  type BookIndex,
  type BookKeys,
  hasShortTexts,
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

/** The id of a stale book; NULL for others. */
export const STALE_ID = `(CASE WHEN ${WORDS_OF} IS DISTINCT FROM ${FINGERPRINT} THEN id END)`

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

// In this order, the index of stale books is the only cheap plan, however many of them the planner expects.
const SELECT_STALE = `
  SELECT id, ${textsUpTo(SEARCHED_LENGTH)}, ${FINGERPRINT} AS fingerprint, ${IS_READ_ONLY} AS "isReadOnly"
  FROM books WHERE ${STALE_ID} IS NOT NULL AND ${STALE_ID} > $1::bigint ORDER BY ${STALE_ID} LIMIT ${STALE_BOOKS}`

const STORE = `
  UPDATE books SET ${WORDS} = indexed.words::tsvector, ${WORDS_OF} = indexed.fingerprint
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS indexed (book, words, fingerprint)
  WHERE id = book AND indexed.fingerprint = ${FINGERPRINT} AND ${WORDS_OF} IS DISTINCT FROM indexed.fingerprint`

export const postgresSearchIndex = (pool: ConnectionPool<pg.Client>): BookIndex =>
  indexOf(pool, SELECT_STALE, STORE, (books) => [
    books.map(({ id }) => id),
    books.map(({ words }) => vectorOf(words)),
    books.map(({ fingerprint }) => fingerprint),
  ])

/** @param listsOf makes the lists that `storing` has as parameters. */
function indexOf<Entry>(
  pool: ConnectionPool<pg.Client>,
  selectStale: string,
  storing: string,
  listsOf: (books: readonly Entry[]) => unknown[][],
): BookIndex<Entry> {
  return {
    stale: (after) => pool.run(async (client) => (await client.query<StaleBook>(selectStale, [after])).rows),
    store: (books) => pool.run(async (client) => (await client.query(storing, listsOf(books))).rowCount ?? 0),
  }
}

export const SEPARATOR = "E'\\x01'"

/** `plainKey` in SQL. The collation C compares texts as bytes, which in UTF-8 sort like code points. */
export const plainKeyOf = (name: IndexedField) =>
  `(${SEPARATOR} || left(coalesce(${name}, ''), ${COMPARED_LENGTH})) COLLATE "C"`

/** The part of a sort key from the separator on: the text. */
const textIn = (key: string) => `substr(${key}, strpos(${key}, ${SEPARATOR}))`

export const isKeyOf = (name: IndexedField, key: string) => `${textIn(key)} = ${plainKeyOf(name)}`

/** The id of a book whose sort keys are missing or were made of other texts; NULL for others. */
export const KEYS_DUE_ID = `(CASE WHEN NOT (${INDEXED_FIELDS.map((name) => isKeyOf(name, KEY_COLUMNS[name])).join(' AND ')}) THEN id END)`

// In this order, the index of books without keys is the only cheap plan, however many of them the planner expects.
const SELECT_WITHOUT_KEYS = `
  SELECT id, ${textsUpTo(COMPARED_LENGTH)}, ${IS_READ_ONLY} AS "isReadOnly"
  FROM books WHERE ${KEYS_DUE_ID} IS NOT NULL AND ${KEYS_DUE_ID} > $1::bigint
  ORDER BY ${KEYS_DUE_ID} LIMIT ${STALE_BOOKS}`

const NEW_KEYS = INDEXED_FIELDS.map((name) => `new_${name}`)
const STORE_KEYS = `
  UPDATE books SET ${INDEXED_FIELDS.map((name, i) => `${KEY_COLUMNS[name]} = ${NEW_KEYS[i]}`)}
  FROM unnest($1::bigint[], ${INDEXED_FIELDS.map((_, i) => `$${i + 2}::text[]`)}) AS made (book, ${NEW_KEYS})
  WHERE id = book AND ${KEYS_DUE_ID} IS NOT NULL AND ${INDEXED_FIELDS.map((name) => isKeyOf(name, `new_${name}`)).join(' AND ')}`

export const postgresKeyIndex = (pool: ConnectionPool<pg.Client>): BookIndex<BookKeys> =>
  indexOf(pool, SELECT_WITHOUT_KEYS, STORE_KEYS, (books) => [
    books.map(({ id }) => id),
    ...INDEXED_FIELDS.map((_, i) => books.map(({ keys }) => keys[i])),
  ])
