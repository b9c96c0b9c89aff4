import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { COLUMNS, FIELD_NAMES } from '../../catalogue/book.ts'
import type { ImportedBook } from '../../catalogue/store.ts'
import type { ImportTransaction } from '../client-server/import.ts'
import { STEP_TIME } from '../client-server/search-indexer.ts'
import { listsOf, VALUES } from './batches.ts'
import { commit } from './commit.ts'
import { exactly, TITLE_KEY } from './dialect.ts'
import type { Schema } from './schema.ts'
import { WORDS, WORDS_OF, wordsOf, wordValues } from './search-index.ts'

const NEXT = VALUES.length + 1

/** The books as a table, in their order. A placeholder for each field would take twice the time. */
const BOOKS = `
  unnest(${VALUES}, $${NEXT}::bigint[], $${NEXT + 1}::text[])
  WITH ORDINALITY AS imported (${FIELD_NAMES}, id, words, place)`

/** @param columns of the books. @param condition selects those to insert. */
const insertInto = (columns: readonly string[], hasWords: boolean, condition = 'TRUE') => `
  INSERT INTO books (${hasWords ? [...columns, WORDS, WORDS_OF] : columns})
  SELECT ${hasWords ? [...columns, ...wordValues('imported')] : columns} FROM ${BOOKS}
  WHERE ${condition} ORDER BY place`
const IMPORTED_TITLE_KEY = TITLE_KEY.replace('title', 'imported.title')
const IS_EQUAL = `
  ${FIELD_NAMES.map((name) => `${exactly(name, 'books.')} = imported.${name}`).join(' AND ')} AND books.id + 0 <= $${NEXT + 2}::bigint`

/**
 * As a join, planned with statistics from when the table was empty, it would read all books for each imported one.
 * OFFSET 0 makes the server look the books up one by one. The order makes it use an index that begins with the title,
 * or the year and title; the addition to the id above keeps it from using that of ids.
 */
const IS_NEW = `NOT EXISTS (
  SELECT FROM books WHERE ${IS_EQUAL} AND (${TITLE_KEY}) BETWEEN (${IMPORTED_TITLE_KEY}) AND (${IMPORTED_TITLE_KEY})
  ORDER BY ${TITLE_KEY}, books.id OFFSET 0)`

/** Never sets the sequence back. */
const CONTINUE_IDS = `
  SELECT setval(pg_get_serial_sequence('books', 'id'), greatest(
    (SELECT max(id) FROM books), nextval(pg_get_serial_sequence('books', 'id'))))`

export function postgresImport(client: pg.Client, { hasWords }: Schema): ImportTransaction {
  const all = insertInto(FIELD_NAMES, hasWords)
  const onlyNew = insertInto(FIELD_NAMES, hasWords, IS_NEW)
  const withIds = insertInto(COLUMNS, hasWords)
  let stored = 0
  let storing = Promise.resolve()
  const insert = async (sql: string, books: readonly ImportedBook[], ...numbers: number[]) => {
    const words = hasWords ? await wordsOfAll(books) : []
    const values = [...listsOf(books), books.map(({ id }) => id), words, ...numbers]
    await storing
    storing = client.query(sql, values).then(({ rowCount }) => {
      // Otherwise pg would keep the texts, and they would become old.
      values.length = 0
      stored += rowCount ?? 0
    })
    // Awaited with the next group, or at the end.
    storing.catch(() => {})
  }
  const number = async (sql: string) =>
    Number((await client.query<{ value: number | null }>(sql)).rows[0]?.value ?? 0)
  return {
    begin: () => client.query('BEGIN'),
    highestId: () => number('SELECT max(id) AS value FROM books'),
    insert: (books, known) => (known === undefined ? insert(all, books) : insert(onlyNew, books, known)),
    insertWithIds: (books) => insert(withIds, books),
    stored: () => storing.then(() => stored),
    count: () => number('SELECT count(*) AS value FROM books'),
    continueIds: () => client.query(CONTINUE_IDS),
    commit: () => commit(client),
    rollback: () => client.query('ROLLBACK'),
  }
}

/** Makes the words in turns, between which other requests are served. */
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
