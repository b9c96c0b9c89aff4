import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { COLUMNS, FIELD_NAMES } from '../../catalogue/book.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportMode, ImportTransaction } from '../client-server/import.ts'
import { STEP_TIME } from '../client-server/search-indexer.ts'
import { type Extras, extrasOf, listsOf, VALUES } from './books.ts'
import { dialectOf, isEqual } from './dialect.ts'
import { commit } from './driver.ts'
import { CONTINUE_IDS, IS_BEHIND, type Schema } from './schema.ts'
import { wordsOf } from './search-index.ts'

const NEXT = VALUES.length + 1

const IS_EQUAL = FIELD_NAMES.map((name) => isEqual(name, `imported.${name}`, 'books.')).join(' AND ')

const KEY = dialectOf('stored').key('title')

/**
 * With statistics from when the table was empty, the server would plan a join that reads all books for each imported
 * one. OFFSET 0 makes it look them up one by one. ORDER BY makes it use the index of titles. IS TRUE keeps it from the
 * index of years, where it would read the books of this import: 20,000 books of one year took 22 seconds. The upper
 * bound of title and id ends each look-up before the books of this import. Otherwise each would be compared with all
 * equal ones before it, which took minutes for some thousands.
 */
const IS_NEW = `NOT EXISTS (
  SELECT FROM books WHERE (${IS_EQUAL}) IS TRUE AND ${KEY} >= imported.title_key
  AND (${KEY}, books.id) <= (imported.title_key, $${NEXT + 1}::bigint)
  ORDER BY ${KEY}, books.id OFFSET 0)`
/** Reads all books. `+ 0` keeps the server from the index of ids. */
const IS_NEW_WITHOUT_KEYS = `NOT EXISTS (
  SELECT FROM books WHERE ${IS_EQUAL} AND books.id + 0 <= $${NEXT + 1}::bigint)`

/**
 * Leaves only the index for IS_NEW. With a bitmap scan, the server would read and sort all books of a title for each
 * imported one, before the first is compared: 5,000 equal books took seven seconds.
 */
const USE_INDEX = '; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off'

/** @param condition selects the books to insert; by default all, for which `known` is null. */
const insertInto = (
  columns: readonly string[],
  extras: Extras,
  condition = `$${NEXT + 1}::bigint IS NULL`,
  overriding = '',
) => `
  INSERT INTO books (${[...columns, ...extras.columns]}) ${overriding}
  SELECT ${[...columns, ...extras.values('imported')]}
  FROM unnest(${[...VALUES, `$${NEXT}::bigint[]`, ...extras.lists(NEXT + 2)]})
  WITH ORDINALITY AS imported (${[...FIELD_NAMES, 'id', ...extras.names]}, place)
  WHERE ${condition} ORDER BY place`

/** Whether the server accepts own ids only with OVERRIDING SYSTEM VALUE, which CockroachDB does not know. */
const IS_ALWAYS_GENERATED = `
  SELECT FROM pg_attribute WHERE attrelid = to_regclass('books') AND attname = 'id' AND attidentity = 'a'`

export function postgresImport(
  client: pg.Client,
  schema: Schema,
  { keepIds, hasAllKeys }: ImportMode,
): ImportTransaction {
  const extras = extrasOf(schema)
  let all = insertInto(keepIds ? COLUMNS : FIELD_NAMES, extras)
  const onlyNew = insertInto(FIELD_NAMES, extras, hasAllKeys ? IS_NEW : IS_NEW_WITHOUT_KEYS)
  let stored = 0
  let storing = Promise.resolve()
  return {
    async begin() {
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED${hasAllKeys ? USE_INDEX : ''}`)
      if (keepIds && (await client.query(IS_ALWAYS_GENERATED)).rows.length > 0)
        all = insertInto(COLUMNS, extras, undefined, 'OVERRIDING SYSTEM VALUE')
      // Not when an id is taken, because the error would end the transaction, and the books can be read only once.
      if ((await client.query(IS_BEHIND)).rows.length > 0) await client.query(CONTINUE_IDS)
    },
    async number(sql) {
      const { rows } = await client.query<{ value: number | null }>(sql)
      return Number(rows[0]?.value ?? 0)
    },
    async insert(books, known) {
      const words = schema.hasWords ? await wordsOfAll(books) : []
      const lists = [...listsOf(books), books.map(({ id }) => id)]
      const values = [...lists, known ?? null, ...extras.of(books, () => words)]
      await storing
      storing = client.query(known === undefined ? all : onlyNew, values).then(({ rowCount }) => {
        stored += rowCount ?? 0
      })
      // An error is thrown when the next group is inserted, or at the end.
      storing.catch(() => {})
    },
    stored: () => storing.then(() => stored),
    continueIds: () => client.query(CONTINUE_IDS),
    commit: () => commit(client),
    rollback: () => client.query('ROLLBACK'),
  }
}

/** Makes the words in turns of STEP_TIME, between which other requests are served. */
async function wordsOfAll(books: readonly ImportedBook[]): Promise<(string | null)[]> {
  const words: (string | null)[] = []
  let end = performance.now() + STEP_TIME
  for (const book of books) {
    words.push(wordsOf(book))
    if (performance.now() < end) continue
    await nextTurn()
    end = performance.now() + STEP_TIME
  }
  return words
}
