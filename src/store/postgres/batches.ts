import type pg from 'pg'
import {
  type Book,
  type BookChanges,
  FIELD_NAMES,
  type FieldName,
  INDEXED_FIELDS,
} from '../../catalogue/book.ts'
import { type BatchStatements, type Change, IS_SHORT, SHORT_BOOK } from '../client-server/batches.ts'
import { BOOK, bookColumns, type ShortBookRow } from '../client-server/page-sql.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import { assignments } from '../query/dialect.ts'
import { typeOf } from './dialect.ts'
import { Extras, keyName } from './extras.ts'
import type { Schema } from './schema.ts'
import { fingerprint, WORDS, WORDS_OF, wordsOf } from './search-index.ts'
import { commit, serverTime, writtenInTime } from './transactions.ts'

/** If this process stops for good in a transaction, the books do not stay locked. */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '5s'"
const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id = ANY ($1::bigint[])`
const LOCK = `
  SELECT ${BOOK} FROM books WHERE id = ANY ($1::bigint[]) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const DELETE = 'DELETE FROM books WHERE id = ANY ($1::bigint[]) RETURNING id'

/** The lists of values with which statements begin, as a table. */
const listsFor = (fields: readonly FieldName[]) => fields.map((name, i) => `$${i + 1}::${typeOf(name)}[]`)
export const VALUES = listsFor(FIELD_NAMES)
const NEXT = VALUES.length + 1

/**
 * The rows that are returned are those of the books, in their order, and so are the ids. To be certain, the statement
 * fails if a trigger has left out a row.
 */
const insert = (columns: readonly string[], values: readonly string[], source: string) => `
  WITH created AS (
    INSERT INTO books (${columns}) SELECT ${values} FROM ${source} WHERE ${writtenInTime(NEXT)} ORDER BY place RETURNING ${BOOK}
  )
  SELECT * FROM created WHERE 1 / ((SELECT count(*) FROM created) = cardinality($1))::int = 1`
/** Both tables have the names of the fields. */
const STORED = bookColumns('books.')

const insertOf = (extras: Extras) =>
  insert(
    [...FIELD_NAMES, ...extras.columns],
    [...FIELD_NAMES, ...extras.values('new')],
    `unnest(${[...VALUES, ...extras.lists(NEXT + 1)]}) WITH ORDINALITY AS new (${[...FIELD_NAMES, ...extras.names]}, place)`,
  )

/** After the lists of the fields comes that of the ids. */
function updateOf(fields: readonly FieldName[], { keyed, hasWords, lists, names }: Extras): string {
  const changed = (name: FieldName) => `coalesce(${fields.includes(name) ? 'new' : 'books'}.${name}, '')`
  const set = assignments([
    ...fields.map((name) => [name, `new.${name}`] as const),
    ...keyed.map((name) => [KEY_COLUMNS[name], `new.${keyName(name)}`] as const),
    // Without new words, those that are stored stay, and become stale if a text has changed.
    ...(hasWords
      ? ([
          [WORDS, `coalesce(new.words::tsvector, ${WORDS})`],
          [
            WORDS_OF,
            `CASE WHEN words IS NULL THEN ${WORDS_OF} ELSE ${fingerprint(changed('title'), changed('author'))} END`,
          ],
        ] as const)
      : []),
  ])
  const ids = fields.length + 1
  return `
    UPDATE books SET ${set}
    FROM unnest(${[...listsFor(fields), `$${ids}::bigint[]`, ...lists(ids + 1)]})
      AS new (${[...fields, 'book', ...names]})
    WHERE id = book RETURNING ${STORED}`
}

/** Works through a pooler that gives every transaction another connection. */
export function postgresBatches(schema: Schema): BatchStatements<pg.Client> {
  const extras = new Extras(schema)
  const INSERT = insertOf(extras)
  return {
    async find(client, ids) {
      return (await client.query<ShortBookRow>(SELECT, [ids])).rows
    },

    async create(client, books, end) {
      const stored = extras.of(books, () => books.map(wordsOf))
      const values = [...listsOf(books), serverTime(client, end), ...stored]
      const { rows } = await client.query<Book>(INSERT, values)
      return books.map((_, i) => rows[i])
    },

    begin: (client) => client.query(BEGIN),

    async lock(client, ids) {
      return (await client.query<Book>(LOCK, [ids])).rows
    },

    async write(client, fields, all) {
      const books = all.map(({ to }) => to)
      const extras = new Extras(schema, fields)
      const stored = extras.of(books, () => all.map(changedWords))
      const values = [...listsOf(books, fields), books.map(({ id }) => id), ...stored]
      return (await client.query<Book>(updateOf(fields, extras), values)).rows
    },

    async remove(client, ids) {
      return (await client.query<Pick<Book, 'id'>>(DELETE, [ids])).rows.map(({ id }) => id)
    },

    commit,
  }
}

/** A list of the values of each field. */
export const listsOf = (books: readonly BookChanges[], fields: readonly FieldName[] = FIELD_NAMES) =>
  fields.map((name) => books.map((book) => book[name] ?? null))

/** The new words of a book; null if it keeps its own, or if they are made later. */
function changedWords({ from, to }: Change): string | null {
  return INDEXED_FIELDS.some((name) => from[name] !== to[name]) ? wordsOf(to) : null
}
