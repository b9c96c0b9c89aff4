import type pg from 'pg'
import { SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import { SEARCHED_LENGTH } from '../../catalogue/search-words.ts'
import { DUE_BOOKS, type DueBook, type WordIndex } from '../client-server/search-indexer.ts'
import type { Dialect } from '../query/dialect.ts'
import type { Use } from '../server-attempt.ts'

/** In the collation C, text compares by its bytes, which in UTF-8 are in the order of code points. */
export const TITLE_KEY = `left(coalesce(title, ''), ${SORT_KEY_LENGTH}) COLLATE "C"`
export const AUTHOR_KEY = `left(coalesce(author, ''), ${SORT_KEY_LENGTH}) COLLATE "C"`
export const YEAR_KEY = 'coalesce(year, 0)'

/** What tells the texts of books apart; not for security. */
export const fingerprint = (title: string, author: string) => `md5(md5(${title}) || md5(${author}))`
const FINGERPRINT = fingerprint("coalesce(title, '')", "coalesce(author, '')")

/** The id of a book whose words are not indexed; NULL of others. */
export const DUE = `(CASE WHEN search_words_of IS DISTINCT FROM ${FINGERPRINT} THEN id END)`

const KEYS = { id: 'id', title: TITLE_KEY, author: AUTHOR_KEY, year: YEAR_KEY }

export const dialect: Dialect = {
  placeholder: (name, number) =>
    name === 'id' || name === 'year' ? `$${number}::bigint` : `$${number}::text`,
  key: (name) => KEYS[name],
  equals: (name, placeholder) => `coalesce(${name}, '') COLLATE "C" = ${placeholder}`,
  hasWords: (words, whole, bind) => matches(bind(searchExpression(words, whole))),
  lacksWords: (words, bind) => `NOT ${matches(bind(searchExpression(words, true)))}`,
}

const matches = (placeholder: string) => `(search_words @@ ${placeholder}::tsquery)`

/** The words have only letters, digits and marks: nothing in them means anything between quotes. */
const searchExpression = (words: readonly string[], whole: boolean) =>
  words.map((word) => `'${word}'${whole ? '' : ':*'}`).join(' & ')

/** The text of a tsvector. It may have 1 MiB, which all words that are kept of a title and an author do not reach. */
export const vectorOf = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

// The order makes the index of books that are due the only cheap way, whatever the planner thinks of how many they are.
const SELECT_DUE = `
  SELECT id, left(coalesce(title, ''), ${SEARCHED_LENGTH}) AS title,
    left(coalesce(author, ''), ${SEARCHED_LENGTH}) AS author, ${FINGERPRINT} AS fingerprint
  FROM books WHERE ${DUE} IS NOT NULL AND ${DUE} > $1::bigint ORDER BY ${DUE} LIMIT ${DUE_BOOKS}`

const STORE = `
  UPDATE books SET search_words = indexed.words::tsvector, search_words_of = indexed.fingerprint
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS indexed (book, words, fingerprint)
  WHERE id = book AND indexed.fingerprint = ${FINGERPRINT} AND search_words_of IS DISTINCT FROM indexed.fingerprint`

/** The words in the column `search_words`. @param use does the work on a connection. */
export function postgresWords(use: Use<pg.Client>): WordIndex {
  return {
    due: (after) => use(async (client) => (await client.query<DueBook>(SELECT_DUE, [after])).rows),
    async store(books) {
      const values = [
        books.map(({ id }) => id),
        books.map(({ words }) => vectorOf(words)),
        books.map(({ fingerprint }) => fingerprint),
      ]
      const { rowCount } = await use((client) => client.query(STORE, values))
      return rowCount ?? 0
    },
  }
}
