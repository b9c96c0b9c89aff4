import { SORT_KEY_LENGTH } from '../book-query.ts'
import type { Dialect } from './query-sql.ts'

/** The columns of the table by which it has indexes, as they are computed. */
export const KEYS = {
  id: 'id',
  title: `CAST(LEFT(COALESCE(title, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  author: `CAST(LEFT(COALESCE(author, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  year: 'COALESCE(year, 0)',
}

const KEY_COLUMNS = { id: 'id', title: 'title_key', author: 'author_key', year: 'year_key' }

/**
 * All texts are compared as bytes, which in UTF-8 are in the order of code points: a column may have any collation,
 * and even utf8mb4_bin takes texts for equal that differ in spaces at their end.
 * @param hasKeys whether the table has columns for the keys.
 */
export const dialect = (hasKeys: boolean): Dialect => ({
  placeholder: () => '?',
  key: (name) => (hasKeys ? KEY_COLUMNS : KEYS)[name],
  equals: (name, placeholder) => `CAST(COALESCE(${name}, '') AS BINARY) = ${placeholder}`,
  hasWords(words, whole, bind) {
    // The longest probably has the fewest books, which are then tested for the others. (Joins of as many tables as
    // there are words would take long to plan.)
    const [first = '', ...others] = words.toSorted((a, b) => b.length - a.length)
    return [
      `id IN (SELECT book FROM book_words WHERE ${matches(first, whole, bind)})`,
      ...others.map((word) => hasWord(word, whole, bind)),
    ].join(' AND ')
  },
  lacksWords: (words, bind) => `NOT (${words.map((word) => hasWord(word, true, bind)).join(' AND ')})`,
})

type Bind = (value: string) => string

const hasWord = (word: string, whole: boolean, bind: Bind) =>
  `(SELECT 1 FROM book_words WHERE book = books.id AND ${matches(word, whole, bind)} LIMIT 1) IS NOT NULL`

const matches = (word: string, whole: boolean, bind: Bind) =>
  whole ? `word = ${bind(word)}` : `word >= ${bind(word)} AND word < CONCAT(${bind(word)}, 0xFF)`
