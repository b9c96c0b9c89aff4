import { isTextField, type NewBook } from '../../catalogue/book.ts'
import { SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import type { Dialect } from '../query/dialect.ts'
import { matchesWords } from './search-index.ts'

/** The collation C compares text by its bytes, which in UTF-8 have the order of code points. */
export const TITLE_KEY = `left(coalesce(title, ''), ${SORT_KEY_LENGTH}) COLLATE "C"`
export const AUTHOR_KEY = `left(coalesce(author, ''), ${SORT_KEY_LENGTH}) COLLATE "C"`
export const YEAR_KEY = 'coalesce(year, 0)'

const KEYS = { id: 'id', title: TITLE_KEY, author: AUTHOR_KEY, year: YEAR_KEY }

/** The value of a column, to be compared byte by byte, whatever its collation. @param table with a dot, or nothing. */
export const exactly = (name: keyof NewBook, table = '') =>
  isTextField(name) ? `coalesce(${table}${name}, '') COLLATE "C"` : `coalesce(${table}${name}, 0)`

export const dialect: Dialect = {
  placeholder: (name, number) =>
    name === 'id' || name === 'year' ? `$${number}::bigint` : `$${number}::text`,
  key: (name) => KEYS[name],
  equals: (name, placeholder) => `${exactly(name)} = ${placeholder}`,
  hasWords: matchesWords,
  lacksWords: (words, bind) => `NOT ${matchesWords(words, true, bind)}`,
}
