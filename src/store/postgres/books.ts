import type pg from 'pg'
import {
  type Book,
  type BookChanges,
  changedFields,
  FIELD_NAMES,
  type FieldName,
  INDEXED_FIELDS,
  type IndexedField,
  isIndexedField,
} from '../../catalogue/book.ts'
import type { BookStatements, Deletion, Update } from '../client-server/batches.ts'
import {
  BOOK,
  bookColumns,
  IS_SHORT,
  KEY_COLUMNS,
  keysOf,
  SHORT_BOOK,
  type ShortBookRow,
} from '../client-server/page-sql.ts'
import { assignments } from '../query/dialect.ts'
import { isEqual, typeOf } from './dialect.ts'
import { serverTime, writtenInTime } from './driver.ts'
import { isIdTaken, passedOver } from './errors.ts'
import { CONTINUE_IDS, type Schema } from './schema.ts'
import { fingerprint, WORDS, WORDS_OF, wordsOf, wordValues } from './search-index.ts'

/** How often new books get other ids while other programs take these. */
const ATTEMPTS = 5

/** What is stored along with fields of books, if the database has the columns: sort keys and words, passed as lists. */
export function extrasOf(schema: Schema, fields: readonly FieldName[] = FIELD_NAMES) {
  const texts = fields.filter(isIndexedField)
  const keyed = schema.hasKeys ? texts : []
  const hasWords = schema.hasWords && texts.length > 0
  /** The name of each list. The words fill two columns from one list. */
  const names = [...keyed.map(keyName), ...(hasWords ? ['words'] : [])]
  return {
    keyed,
    hasWords,
    names,
    columns: [...keyed.map((name) => KEY_COLUMNS[name]), ...(hasWords ? [WORDS, WORDS_OF] : [])],
    /** The placeholders of the lists. @param first the number of the first one. */
    lists: (first: number) => names.map((_, i) => `$${first + i}::text[]`),
    /** The SQL of each column for new books. @param table the name of the table that has the lists. */
    values: (table: string) => [
      ...keyed.map((name) => `${table}.${keyName(name)}`),
      ...(hasWords ? wordValues(table) : []),
    ],
    /** The lists for the placeholders. @param words returns the words of each book, as `wordsOf` makes them. */
    of(books: readonly BookChanges[], words: () => readonly (string | null)[]): (string | null)[][] {
      const keys = books.map((book) => keysOf(book, keyed))
      return [
        ...keyed.map((_, i) => keys.map((each) => each[i] ?? null)),
        ...(hasWords ? [[...words()]] : []),
      ]
    },
  }
}

export type Extras = ReturnType<typeof extrasOf>

const keyName = (name: IndexedField) => `${name}_key`

const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`
const SELECT_SHORT = `SELECT ${SHORT_BOOK} FROM books WHERE id = ANY ($1::bigint[])`

/** The placeholders of lists, one for each field. @param first the number of the first one. */
const listsFor = (fields: readonly FieldName[], first = 1) =>
  fields.map((name, i) => `$${first + i}::${typeOf(name)}[]`)
export const VALUES = listsFor(FIELD_NAMES)

/** Lists as the columns of a table. For lists of one value, the server plans a SELECT faster than `unnest`. */
const tableOf = (lists: readonly string[], isOne: boolean) =>
  isOne ? `(SELECT ${lists.map((list) => `(${list})[1]`)})` : `unnest(${lists})`

/** @returns a list for each field, with its value in each book. */
export const listsOf = (
  books: readonly (BookChanges | undefined)[],
  fields: readonly FieldName[] = FIELD_NAMES,
) => fields.map((name) => books.map((book) => book?.[name] ?? null))

/** With the table, because the table `given` has the names of the fields too. */
const STORED = bookColumns('books.')

/**
 * The statement returns the rows in the order of the books, with ascending ids. If a trigger leaves out one of several
 * rows, it fails with a division by zero: otherwise the books after that row would be answered with the ids of others.
 * Its placeholders are the fields, the time, and the extras.
 */
function insertOf(extras: Extras, isOne: boolean): string {
  const time = VALUES.length + 1
  const columns = [...FIELD_NAMES, ...extras.columns]
  const values = [...FIELD_NAMES, ...extras.values('new')]
  const names = [...FIELD_NAMES, ...extras.names]
  const lists = tableOf([...VALUES, ...extras.lists(time + 1)], isOne)
  const insert = (rest: string) =>
    `INSERT INTO books (${columns}) SELECT ${values} FROM ${lists} ${rest} RETURNING ${BOOK}`
  if (isOne) return insert(`AS new (${names}) WHERE ${writtenInTime(time)}`)
  return `
    WITH created AS (
      ${insert(`WITH ORDINALITY AS new (${names}, place) WHERE ${writtenInTime(time)} ORDER BY place`)}
    )
    SELECT * FROM created WHERE 1 / ((SELECT count(*) FROM created) = cardinality($1))::int = 1`
}

/** Selects the books to write. Its placeholders are their ids, the time, and the fields of the expected books. */
interface Selection {
  /** Whether a book is written only if it is still as it was read. */
  readonly isExpecting: boolean
  readonly isOne: boolean
  /** Whether to wait for books that others have locked. If not, these and long books are left out. */
  readonly waits: boolean
}

const nextAfter = ({ isExpecting }: Selection) => 3 + (isExpecting ? FIELD_NAMES.length : 0)

const expectedName = (name: FieldName) => `expected_${name}`

/** Locks the short books that nobody else has locked. */
const FREE = `ARRAY(SELECT id FROM books WHERE id = ANY ($1::bigint[]) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED)`

/** Makes FROM and WHERE of a selection. The table `given` also has these lists, under these names. */
function select(
  { isExpecting, isOne, waits }: Selection,
  [lists, names]: readonly [lists: readonly string[], names: readonly string[]] = [[], []],
): readonly [from: string, where: string] {
  const expected = isExpecting ? FIELD_NAMES : []
  const given = tableOf(['$1::bigint[]', ...listsFor(expected, 3), ...lists], isOne)
  const from = `${given} AS given (${['book', ...expected.map(expectedName), ...names]})`
  const where = [
    'books.id = given.book',
    ...(waits ? [] : [`books.id = ANY (${FREE})`]),
    ...expected.map((name) => isEqual(name, `given.${expectedName(name)}`, 'books.')),
    writtenInTime(2),
  ]
  return [from, where.join(' AND ')]
}

function deleteOf(selection: Selection): string {
  const [from, where] = select(selection)
  return `DELETE FROM books USING ${from} WHERE ${where} RETURNING books.id`
}

/** The placeholders are the selection, the fields, and the extras. */
function updateOf(fields: readonly FieldName[], extras: Extras, selection: Selection): string {
  const next = nextAfter(selection)
  const changed = (name: FieldName) =>
    fields.includes(name) ? `given.${name}` : `coalesce(books.${name}, '')`
  const set = assignments([
    ...fields.map((name) => [name, `given.${name}`] as const),
    ...extras.keyed.map((name) => [KEY_COLUMNS[name], `given.${keyName(name)}`] as const),
    // Without new words, the stored ones stay, and are stale if a text has changed.
    ...(extras.hasWords
      ? ([
          [WORDS, `coalesce(given.words::tsvector, ${WORDS})`],
          [
            WORDS_OF,
            `CASE WHEN given.words IS NULL THEN ${WORDS_OF} ELSE ${fingerprint(changed('title'), changed('author'))} END`,
          ],
        ] as const)
      : []),
  ])
  const lists = [...listsFor(fields, next), ...extras.lists(next + fields.length)]
  const [from, where] = select(selection, [lists, [...fields, ...extras.names]])
  return `UPDATE books SET ${set} FROM ${from} WHERE ${where} RETURNING ${STORED}`
}

/**
 * Each operation is one unnamed statement in its own transaction, and does not depend on the state of a session. It
 * therefore works through a pooler that gives each transaction another connection.
 */
export function postgresBooks(schema: Schema): BookStatements<pg.Client> {
  const extras = extrasOf(schema)
  const INSERT = insertOf(extras, false)
  const INSERT_ONE = insertOf(extras, true)
  const valuesOf = (client: pg.Client, requests: readonly Deletion[], end: number) => {
    const isExpecting = requests[0]?.expected !== undefined
    const expected = isExpecting ? listsOf(requests.map(({ expected }) => expected)) : []
    const values = [requests.map(({ id }) => id), serverTime(client, end), ...expected]
    return { selection: { isExpecting, isOne: requests.length === 1 }, values }
  }
  return {
    async read(client, id) {
      return (await client.query<Book>(SELECT, [id])).rows[0]
    },

    async find(client, ids) {
      return (await client.query<ShortBookRow>(SELECT_SHORT, [ids])).rows
    },

    async create(client, books, end) {
      const stored = extras.of(books, () => books.map(wordsOf))
      const values = [...listsOf(books), serverTime(client, end), ...stored]
      const insert = () => client.query<Book>(books.length === 1 ? INSERT_ONE : INSERT, values)
      for (let attempt = 1; ; attempt++) {
        try {
          return (await insert()).rows
        } catch (error) {
          if (attempt === ATTEMPTS || !isIdTaken(error)) throw error
          await client.query(CONTINUE_IDS)
        }
      }
    },

    async update(client, updates, end, alone) {
      const fields = changedFields(updates[0]?.changes ?? {})
      const { selection, values } = valuesOf(client, updates, end)
      const extras = extrasOf(schema, fields)
      const changes = updates.map(({ changes }) => changes)
      const stored = extras.of(changes, () => updates.map(changedWords))
      const sql = updateOf(fields, extras, { ...selection, waits: alone })
      const { rows } = await client.query<Book>(sql, [...values, ...listsOf(changes, fields), ...stored])
      const kept = alone && rows.length === 0 ? await findKept(client, updates) : undefined
      if (kept === undefined) return rows
      if (fields.every((name) => changes[0]?.[name] === kept[name])) return [kept]
      throw passedOver(kept.id)
    },

    async delete(client, deletions, end, alone) {
      const { selection, values } = valuesOf(client, deletions, end)
      const { rows } = await client.query<{ id: number }>(deleteOf({ ...selection, waits: alone }), values)
      const kept = alone && rows.length === 0 ? await findKept(client, deletions) : undefined
      if (kept !== undefined) throw passedOver(kept.id)
      return rows.map(({ id }) => id)
    },
  }
}

/**
 * Looks for a book that was not written, which does not mean that it is gone: a trigger or row security may pass over it.
 * @returns the book if it is there and, if a book is expected, like that.
 */
async function findKept(client: pg.Client, [request]: readonly Deletion[]): Promise<Book | undefined> {
  const [book] = (await client.query<Book>(SELECT, [request?.id])).rows
  const expected = request?.expected
  const isExpected = expected === undefined || FIELD_NAMES.every((name) => book?.[name] === expected[name])
  return isExpected ? book : undefined
}

/** The words of a book if a text changes and both texts are known; otherwise null, and the index makes them later. */
function changedWords({ changes, expected }: Update): string | null {
  const { title, author } = { ...expected, ...changes }
  const isChanged = INDEXED_FIELDS.some((name) => changes[name] !== undefined)
  return isChanged && title !== undefined && author !== undefined ? wordsOf({ title, author }) : null
}
