import type pg from 'pg'
import { type Book, FIELD_NAMES, isTextField, type NewBook, TEXT_FIELDS } from '../../catalogue/book.ts'
import {
  type BatchStatements,
  type Change,
  changedValues,
  IS_SHORT,
  SHORT_BOOK,
} from '../client-server/batches.ts'
import { BOOK, bookColumns, type ShortBookRow } from '../client-server/page-sql.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import { commit } from './commit.ts'
import { Extras, keyName } from './extras.ts'
import type { Schema } from './schema.ts'
import { fingerprint, WORDS, WORDS_OF, wordsOf } from './search-index.ts'
import { serverTime, writtenInTime } from './write-deadline.ts'

/** If this process stops for good in a transaction, the books do not stay locked. */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '5s'"
const SELECT = `SELECT ${SHORT_BOOK} FROM books WHERE id = ANY ($1::bigint[])`
const LOCK = `
  SELECT ${BOOK} FROM books WHERE id = ANY ($1::bigint[]) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED`
const DELETE = 'DELETE FROM books WHERE id = ANY ($1::bigint[]) RETURNING id'

/** The lists of values with which statements begin, as a table. */
export const VALUES = FIELD_NAMES.map((name, i) => `$${i + 1}::${isTextField(name) ? 'text[]' : 'bigint[]'}`)
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
const changed = (name: keyof NewBook) => `coalesce(new.${name}, books.${name})`
const SET = FIELD_NAMES.map((name) => `${name} = ${changed(name)}`)
const SET_KEYS = TEXT_FIELDS.map(
  (name) => `${KEY_COLUMNS[name]} = coalesce(new.${keyName(name)}, ${KEY_COLUMNS[name]})`,
)
const CHANGED_WORDS_OF = fingerprint(
  `coalesce(${changed('title')}, '')`,
  `coalesce(${changed('author')}, '')`,
)
const SET_WORDS = [
  `${WORDS} = coalesce(new.words::tsvector, ${WORDS})`,
  `${WORDS_OF} = CASE WHEN words IS NULL THEN ${WORDS_OF} ELSE ${CHANGED_WORDS_OF} END`,
]

function statementsOf({ hasKeys, hasWords }: Schema, extras: Extras) {
  const names = [...FIELD_NAMES, ...extras.names]
  const set = [...SET, ...(hasKeys ? SET_KEYS : []), ...(hasWords ? SET_WORDS : [])]
  return {
    insert: insert(
      [...FIELD_NAMES, ...extras.columns],
      [...FIELD_NAMES, ...extras.values('new')],
      `unnest(${[...VALUES, ...extras.lists(NEXT + 1)]}) WITH ORDINALITY AS new (${names}, place)`,
    ),
    update: `
      UPDATE books SET ${set}
      FROM unnest(${[...VALUES, ...extras.lists(NEXT + 1)]}, $${NEXT}::bigint[]) AS new (${names}, book)
      WHERE id = book RETURNING ${STORED}`,
  }
}

/** Works through a pooler that gives every transaction another connection. */
export function postgresBatches(schema: Schema): BatchStatements<pg.Client> {
  const extras = new Extras(schema)
  const statements = statementsOf(schema, extras)
  return {
    async find(client, ids) {
      return (await client.query<ShortBookRow>(SELECT, [ids])).rows
    },

    async create(client, books, end) {
      const stored = extras.of(books, () => books.map(wordsOf))
      const values = [...listsOf(books), serverTime(client, end), ...stored]
      const { rows } = await client.query<Book>(statements.insert, values)
      return books.map((_, i) => rows[i])
    },

    begin: (client) => client.query(BEGIN),

    async lock(client, ids) {
      return (await client.query<Book>(LOCK, [ids])).rows
    },

    async write(client, all) {
      const stored = extras.of(
        all.map(({ changes }) => changes),
        () => all.map(changedWords),
      )
      const fields = FIELD_NAMES.map((name) => changedValues(name, all))
      const values = [...fields, all.map(({ to }) => to.id), ...stored]
      return (await client.query<Book>(statements.update, values)).rows
    },

    async remove(client, ids) {
      return (await client.query<Pick<Book, 'id'>>(DELETE, [ids])).rows.map(({ id }) => id)
    },

    commit,
  }
}

/** What the placeholders of VALUES stand for. */
export const listsOf = (books: readonly NewBook[]) =>
  FIELD_NAMES.map((name) => books.map((book) => book[name]))

/** The new words of a book; null if it keeps its own, or if they are made later. */
function changedWords({ from, to }: Change): string | null {
  return TEXT_FIELDS.some((name) => from[name] !== to[name]) ? wordsOf(to) : null
}
