import type pg from 'pg'
import { type Book, FIELD_NAMES, isTextField, type NewBook } from '../../catalogue/book.ts'
import { wordsOfBook } from '../../catalogue/search-words.ts'
import { type Batches, foundOf, IS_SHORT, SHORT_BOOK, type ShortBookRow } from '../client-server/batches.ts'
import { BOOK, columnOrEmpty } from '../client-server/page-sql.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import { exactly } from './dialect.ts'
import type { Schema } from './schema.ts'
import { fingerprint, vectorOf } from './search-index.ts'

const listType = (name: keyof NewBook) => (isTextField(name) ? 'text[]' : 'bigint[]')

/** A placeholder for a list of the values of each field. @param first the number of the first one. */
const lists = (first: number) => FIELD_NAMES.map((name, i) => `$${first + i}::${listType(name)}`)

/** The values of each field. */
const listsOf = (books: readonly (Partial<NewBook> | undefined)[]) =>
  FIELD_NAMES.map((name) => books.map((book) => book?.[name]))

const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id = ANY ($1::bigint[])`

/**
 * The rows that are returned are those of the books, in their order, and so are the ids. To be certain, the statement
 * fails if a trigger has left out a row.
 */
const insert = (columns: readonly string[], values: readonly string[], source: string) => `
  WITH created AS (
    INSERT INTO books (${columns}) SELECT ${values} FROM ${source} ORDER BY place RETURNING ${BOOK}
  )
  SELECT * FROM created WHERE 1 / ((SELECT count(*) FROM created) = cardinality($1))::int = 1`
const INSERT = insert(
  FIELD_NAMES,
  FIELD_NAMES,
  `unnest(${lists(1)}) WITH ORDINALITY AS new (${FIELD_NAMES}, place)`,
)
const INSERT_WITH_WORDS = insert(
  [...FIELD_NAMES, 'search_words', 'search_words_of'],
  [
    ...FIELD_NAMES,
    'words::tsvector',
    `CASE WHEN words IS NOT NULL THEN ${fingerprint('title', 'author')} END`,
  ],
  `unnest(${[...lists(1), `$${FIELD_NAMES.length + 1}::text[]`]}) WITH ORDINALITY AS new (${FIELD_NAMES}, words, place)`,
)

const OLD_FIELDS = FIELD_NAMES.map((name) => `old_${name}`)
const IS_EXPECTED = `(${OLD_FIELDS[0]} IS NULL OR (${FIELD_NAMES.map((name) => `${exactly(name, 'books.')} = old_${name}`).join(' AND ')}))`

/** Locks the books of a batch that no other transaction has locked, so that nothing waits and no deadlock is possible. */
const LOCKED = `
  SELECT id FROM books WHERE id = ANY ($1::bigint[]) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const UPDATE = `
  WITH locked AS MATERIALIZED (${LOCKED})
  UPDATE books SET ${FIELD_NAMES.map((name) => `${name} = coalesce(new.${name}, books.${name})`)}
  FROM unnest($1::bigint[], ${[...lists(2), ...lists(2 + FIELD_NAMES.length)]})
    AS new (book, ${FIELD_NAMES}, ${OLD_FIELDS})
  WHERE books.id = new.book AND books.id IN (SELECT id FROM locked) AND ${IS_EXPECTED}
  RETURNING id, ${FIELD_NAMES.map((name) => `${columnOrEmpty(name, 'books.')} AS ${name}`)}`
const DELETE = `
  WITH locked AS MATERIALIZED (${LOCKED})
  DELETE FROM books USING unnest($1::bigint[], ${lists(2)}) AS expected (book, ${OLD_FIELDS})
  WHERE books.id = expected.book AND books.id IN (SELECT id FROM locked) AND ${IS_EXPECTED}
  RETURNING id`

/** Each batch is one statement, which is a transaction of its own. */
export const postgresBatches = ({ hasWords }: Schema): Batches<pg.Client> => ({
  async create(client, books) {
    const words = books.map((book) => (hasShortTexts(book) ? vectorOf(wordsOfBook(book)) : null))
    const { rows } = hasWords
      ? await client.query<Book>(INSERT_WITH_WORDS, [...listsOf(books), words])
      : await client.query<Book>(INSERT, listsOf(books))
    return books.map((_, i) => rows[i] && { result: rows[i] })
  },

  async find(client, ids) {
    const { rows } = await client.query<ShortBookRow>(SELECT, [ids])
    return foundOf(ids, rows)
  },

  async update(client, updates) {
    const { rows } = await client.query<Book>(UPDATE, [
      updates.map(({ id }) => id),
      ...listsOf(updates.map(({ changes }) => changes)),
      ...listsOf(updates.map(({ expected }) => expected)),
    ])
    const updated = new Map(rows.map((book) => [book.id, { result: book }]))
    return updates.map(({ id }) => updated.get(id))
  },

  async delete(client, deletions) {
    const { rows } = await client.query<Pick<Book, 'id'>>(DELETE, [
      deletions.map(({ id }) => id),
      ...listsOf(deletions.map(({ expected }) => expected)),
    ])
    const deleted = new Set(rows.map(({ id }) => id))
    return deletions.map(({ id }) => (deleted.has(id) ? { result: true } : undefined))
  },
})
