import { isTextField, type NewBook, TEXT_FIELDS, type TextField } from '../../catalogue/book.ts'
import { COMPARED_LENGTH, plainKey, sortKey } from '../../catalogue/sort-key.ts'
import type { KeySource } from '../client-server/queries.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import type { Dialect } from '../query/dialect.ts'
import { matchesWords } from './search-index.ts'

/** The separator of a sort key. */
const SEPARATOR = "E'\\x01'"

/** The sort key without words. The collation C compares text by its bytes, which in UTF-8 have the order of code points. */
const plainKeyOf = (name: TextField) =>
  `(${SEPARATOR} || left(coalesce(${name}, ''), ${COMPARED_LENGTH})) COLLATE "C"`
export const YEAR_KEY = 'coalesce(year, 0)'

/** The text in a sort key, with the separator. */
const textIn = (key: string) => `substr(${key}, strpos(${key}, ${SEPARATOR}))`

/** Whether a sort key was made of the text. */
export const isKeyOf = (name: TextField, key: string) => `${textIn(key)} = ${plainKeyOf(name)}`

/** The id of a book that lacks a sort key; NULL for others. */
export const KEYS_DUE_ID = `(CASE WHEN NOT (${TEXT_FIELDS.map((name) => isKeyOf(name, KEY_COLUMNS[name])).join(' AND ')}) THEN id END)`

const STORED_KEYS = { id: 'id', ...KEY_COLUMNS, year: YEAR_KEY }
const COMPUTED_KEYS = { id: 'id', title: plainKeyOf('title'), author: plainKeyOf('author'), year: YEAR_KEY }

/** The value of a column, to be compared byte by byte, whatever its collation. @param table with a dot, or nothing. */
export const exactly = (name: keyof NewBook, table = '') =>
  isTextField(name) ? `coalesce(${table}${name}, '') COLLATE "C"` : `coalesce(${table}${name}, 0)`

export function dialectOf(keys: KeySource): Dialect {
  const names = keys === 'computed' ? COMPUTED_KEYS : STORED_KEYS
  return {
    placeholder: (name, number) =>
      name === 'id' || name === 'year' ? `$${number}::bigint` : `$${number}::text`,
    key: (name) => names[name],
    keyOf(name, text) {
      if (keys === 'incomplete') return undefined
      return keys === 'computed' ? plainKey(text) : String(sortKey(name, text))
    },
    equals: (name, placeholder) => `${exactly(name)} = ${placeholder}`,
    hasWords: matchesWords,
    hasInTitle: (text, bind) =>
      `strpos(' ' || split_part(${names.title}, ${SEPARATOR}, 1) || ' ', ${bind(text)}) > 0`,
    lacksWords: (words, bind) => `NOT ${matchesWords(words, true, bind)}`,
  }
}
