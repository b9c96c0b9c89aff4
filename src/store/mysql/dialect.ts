import { INDEXED_FIELDS, type IndexedField } from '../../catalogue/book.ts'
import { COMPARED_LENGTH, plainKey, sortKey } from '../../catalogue/sort-key.ts'
import type { KeySource, Query } from '../client-server/queries.ts'
import { KEY_COLUMNS } from '../client-server/sort-keys.ts'
import type { Dialect } from '../query/dialect.ts'
import { WORDS } from './search-index.ts'

/** The separator of a sort key. */
const SEPARATOR = '0x01'

/** The sort key without words. */
export const plainKeyOf = (name: IndexedField) =>
  `CONCAT(${SEPARATOR}, CAST(LEFT(COALESCE(${name}, ''), ${COMPARED_LENGTH}) AS BINARY))`

/** 1 for a book that lacks a sort key: a key has the text that it was made of, after the separator. NULL for others. */
export const LACKS_KEYS = `IF(${INDEXED_FIELDS.map((name) => {
  const key = KEY_COLUMNS[name]
  return `SUBSTRING(${key}, LOCATE(${SEPARATOR}, ${key})) = ${plainKeyOf(name)}`
}).join(' AND ')}, NULL, 1)`

const STORED_KEYS = { id: 'id', ...KEY_COLUMNS }
const COMPUTED_KEYS = { id: 'id', title: plainKeyOf('title'), author: plainKeyOf('author') }

/** At most so many books with a word are checked one by one. If there are more, a page in some order is found quickly. */
const FEW_BOOKS = 2000

/** The word of a search that the fewest books have, if few books have it: as a whole word, and as a prefix of one. */
export interface RareWords {
  readonly exact: string | undefined
  readonly prefix: string | undefined
}

export const NO_WORDS: RareWords = { exact: undefined, prefix: undefined }

/**
 * All texts are compared as bytes, which in UTF-8 have the order of code points. A column may have any collation, and
 * even utf8mb4_bin ignores spaces at the end.
 * @param yearKey the SQL by which years are sorted and compared.
 */
export function dialectOf(yearKey: string, keys: KeySource, rare: RareWords): Dialect {
  const names = { ...(keys === 'computed' ? COMPUTED_KEYS : STORED_KEYS), year: yearKey }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    keyOf(name, text) {
      if (keys === 'incomplete') return undefined
      return keys === 'computed' ? plainKey(text) : String(sortKey(name, text))
    },
    equals: (name, placeholder) => `CAST(COALESCE(${name}, '') AS BINARY) = ${placeholder}`,
    hasWords(words, exact, bind) {
      const rarest = exact ? rare.exact : rare.prefix
      // Not one join for each word, because planning so many joins would take long.
      const has = (word: string) =>
        word === rarest
          ? `id IN (SELECT book FROM ${WORDS} WHERE ${matches(word, exact, bind)})`
          : hasWord(word, exact, bind)
      return words.map(has).join(' AND ')
    },
    hasInTitle: (text, bind) =>
      `LOCATE(${bind(text)}, CONCAT(' ', SUBSTRING_INDEX(${names.title}, ${SEPARATOR}, 1), ' ')) > 0`,
    lacksWords: (words, bind) => `NOT (${words.map((word) => hasWord(word, true, bind)).join(' AND ')})`,
  }
}

/** Counts the books with each of the words, up to FEW_BOOKS. */
export async function findRareWords(words: readonly string[], query: Query): Promise<RareWords> {
  const values: string[] = []
  const bind = (word: string) => {
    values.push(word)
    return '?'
  }
  const count = (word: string, exact: boolean, name: string) =>
    `(SELECT COUNT(*) FROM (
      SELECT 1 FROM ${WORDS} WHERE ${matches(word, exact, bind)} LIMIT ${FEW_BOOKS}
    ) some) AS ${name}`
  const columns = words.flatMap((word, i) => [
    count(word, true, `exact${i}`),
    count(word, false, `prefix${i}`),
  ])
  const [row = {}] = (await query(`SELECT ${columns.join(', ')}`, values)) as Record<string, number>[]
  const rarest = (name: string) => {
    const counts = words.map((_, i) => row[`${name}${i}`] ?? FEW_BOOKS)
    const least = Math.min(...counts)
    return least < FEW_BOOKS ? words[counts.indexOf(least)] : undefined
  }
  return { exact: rarest('exact'), prefix: rarest('prefix') }
}

type Bind = (value: string) => string

/** Without the hint, MariaDB might look up all books with the word for each book. */
const hasWord = (word: string, exact: boolean, bind: Bind) =>
  `(SELECT 1 FROM ${WORDS} FORCE INDEX (PRIMARY) WHERE book = books.id AND ${matches(word, exact, bind)} LIMIT 1) IS NOT NULL`

const matches = (word: string, exact: boolean, bind: Bind) =>
  exact ? `word = ${bind(word)}` : `word >= ${bind(word)} AND word < CONCAT(${bind(word)}, 0xFF)`
