import { type FieldName, isNullable, isTextField } from '../../catalogue/book.ts'
import { columnOrEmpty, KEY_COLUMNS } from '../client-server/page-sql.ts'
import { type KeySource, keyFrom } from '../client-server/queries.ts'
import type { Dialect } from '../query/dialect.ts'
import { matchesWords, plainKeyOf, SEPARATOR } from './search-index.ts'

export const YEAR_KEY = 'coalesce(year, 0)'

const STORED_KEYS = { id: 'id', ...KEY_COLUMNS, year: YEAR_KEY }
const COMPUTED_KEYS = { id: 'id', title: plainKeyOf('title'), author: plainKeyOf('author'), year: YEAR_KEY }

/** A column that is compared byte by byte, whatever its collation. @param table with a dot, or nothing. */
const comparedAsBytes = (name: FieldName, table: string) =>
  isTextField(name) ? `${columnOrEmpty(name, table)} COLLATE "C"` : columnOrEmpty(name, table)

export const typeOf = (name: FieldName) => (isTextField(name) ? 'text' : 'bigint')

/** Whether a column equals a value, byte by byte. @param table with a dot, or nothing. */
export const isEqual = (name: FieldName, value: string, table = '') =>
  `${comparedAsBytes(name, table)} ${isNullable(name) ? 'IS NOT DISTINCT FROM' : '='} ${value}`

export function dialectOf(keys: KeySource): Dialect {
  const names = keys === 'computed' ? COMPUTED_KEYS : STORED_KEYS
  return {
    placeholder: (name, number) => `$${number}::${name === 'id' ? 'bigint' : typeOf(name)}`,
    key: (name) => names[name],
    keyOf: (name, text) => keyFrom(keys, name, text),
    equals: (name, placeholder) => isEqual(name, placeholder),
    hasWords: matchesWords,
    hasInTitle: (text, bind) =>
      `strpos(' ' || split_part(${names.title}, ${SEPARATOR}, 1) || ' ', ${bind(text)}) > 0`,
    lacksWords: (words, bind) => `NOT ${matchesWords(words, true, bind)}`,
  }
}
