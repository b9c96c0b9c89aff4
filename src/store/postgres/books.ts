import type pg from 'pg'
import {
  type Book,
  type BookChanges,
  changedFields,
  FIELD_NAMES,
  type FieldName,
  INDEXED_FIELDS,
} from '../../catalogue/book.ts'
import type { BookStatements, Deletion, Update } from '../client-server/batches.ts'
import { BOOK, bookColumns, IS_SHORT, SHORT_BOOK, type ShortBookRow } from '../client-server/page-sql.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import { assignments } from '../query/dialect.ts'
import { isEqual, typeOf } from './dialect.ts'
import { serverTime, writtenInTime } from './driver.ts'
import { Extras, keyName } from './extras.ts'
import type { Schema } from './schema.ts'
import { fingerprint, WORDS, WORDS_OF, wordsOf } from './search-index.ts'

const SELECT = `SELECT ${BOOK} FROM books WHERE id = $1::bigint`
const SELECT_SHORT = `SELECT ${SHORT_BOOK} FROM books WHERE id = ANY ($1::bigint[])`

/** Lists of values. @param first the number of the first placeholder. */
const listsFor = (fields: readonly FieldName[], first = 1) =>
  fields.map((name, i) => `$${first + i}::${typeOf(name)}[]`)
export const VALUES = listsFor(FIELD_NAMES)

/** Lists of values as a table. Lists of one value each are planned faster in this way. */
const tableOf = (lists: readonly string[], isOne: boolean) =>
  isOne ? `(SELECT ${lists.map((list) => `(${list})[1]`)})` : `unnest(${lists})`

/** @returns the values of each field. */
export const listsOf = (
  books: readonly (BookChanges | undefined)[],
  fields: readonly FieldName[] = FIELD_NAMES,
) => fields.map((name) => books.map((book) => book?.[name] ?? null))

/** Both tables have the names of the fields. */
const STORED = bookColumns('books.')

/**
 * The rows that are returned are those of the books, in their order, and so are the ids. To be certain, the statement
 * for several fails if a trigger has left out a row. The fields come first, then the time.
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

/** The books to write. The placeholders of their ids and of the time come first, then the books as they are expected. */
interface Selection {
  /** Whether the books are expected to be as they were read. */
  readonly isExpecting: boolean
  readonly isOne: boolean
  /** Whether to wait for books that others have locked. Otherwise these are left out, and so are long ones. */
  readonly waits: boolean
}

/** The number of the first placeholder after those of a selection. */
const nextAfter = ({ isExpecting }: Selection) => 3 + (isExpecting ? FIELD_NAMES.length : 0)

const expectedName = (name: FieldName) => `expected_${name}`

/** The books that nobody has locked. They are locked now. */
const FREE = `ARRAY(SELECT id FROM books WHERE id = ANY ($1::bigint[]) AND ${IS_SHORT} FOR UPDATE SKIP LOCKED)`

/** @returns where the books are from, and which they are. @param more lists, and their names. */
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

/** After the placeholders of the selection come the fields, and what is stored with them. */
function updateOf(fields: readonly FieldName[], extras: Extras, selection: Selection): string {
  const next = nextAfter(selection)
  const changed = (name: FieldName) =>
    fields.includes(name) ? `given.${name}` : `coalesce(books.${name}, '')`
  const set = assignments([
    ...fields.map((name) => [name, `given.${name}`] as const),
    ...extras.keyed.map((name) => [KEY_COLUMNS[name], `given.${keyName(name)}`] as const),
    // Without new words, those that are stored stay, and become stale if a text has changed.
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
 * Each is one statement in a transaction of its own, without a name and without any state of a session. So they work
 * through a pooler that gives every transaction another connection.
 */
export function postgresBooks(schema: Schema): BookStatements<pg.Client> {
  const extras = new Extras(schema)
  const INSERT = insertOf(extras, false)
  const INSERT_ONE = insertOf(extras, true)
  /** The values of a selection. */
  const valuesOf = (client: pg.Client, requests: readonly (Update | Deletion)[], end: number) => {
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
      return (await client.query<Book>(books.length === 1 ? INSERT_ONE : INSERT, values)).rows
    },

    async update(client, updates, end, alone) {
      const fields = changedFields(updates[0]?.changes ?? {})
      const { selection, values } = valuesOf(client, updates, end)
      const extras = new Extras(schema, fields)
      const changes = updates.map(({ changes }) => changes)
      const stored = extras.of(changes, () => updates.map(changedWords))
      const sql = updateOf(fields, extras, { ...selection, waits: alone })
      return (await client.query<Book>(sql, [...values, ...listsOf(changes, fields), ...stored])).rows
    },

    async delete(client, deletions, end, alone) {
      const { selection, values } = valuesOf(client, deletions, end)
      const { rows } = await client.query<{ id: number }>(deleteOf({ ...selection, waits: alone }), values)
      return rows.map(({ id }) => id)
    },
  }
}

/** The new words of a book, if both of its texts are known; else null: they are made later. */
function changedWords({ changes, expected }: Update): string | null {
  const { title, author } = { ...expected, ...changes }
  const isChanged = INDEXED_FIELDS.some((name) => changes[name] !== undefined)
  return isChanged && title !== undefined && author !== undefined ? wordsOf({ title, author }) : null
}
