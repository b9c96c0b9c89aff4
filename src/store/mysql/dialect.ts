import { INDEXED_FIELDS, type IndexedField } from '../../catalogue/book.ts'
import { COMPARED_LENGTH } from '../../catalogue/sort-key.ts'
import { KEY_COLUMNS } from '../client-server/page-sql.ts'
import { type KeySource, keyFrom, type Query } from '../client-server/queries.ts'
import type { Dialect } from '../query/dialect.ts'
import { WORDS } from './search-index.ts'

const SEPARATOR = '0x01'

/** `plainKey` in SQL. */
export const plainKeyOf = (name: IndexedField) =>
  `CONCAT(${SEPARATOR}, CAST(LEFT(COALESCE(${name}, ''), ${COMPARED_LENGTH}) AS BINARY))`

/** 1 for a book whose sort keys are missing or were made of other texts; NULL for others. A key ends with its text. */
export const LACKS_KEYS = `IF(${INDEXED_FIELDS.map((name) => {
  const key = KEY_COLUMNS[name]
  return `SUBSTRING(${key}, LOCATE(${SEPARATOR}, ${key})) = ${plainKeyOf(name)}`
}).join(' AND ')}, NULL, 1)`

const STORED_KEYS = { id: 'id', ...KEY_COLUMNS }
const COMPUTED_KEYS = { id: 'id', title: plainKeyOf('title'), author: plainKeyOf('author') }

/** If fewer books have a word, these are checked one by one. Otherwise, reading books in order soon fills a page. */
const FEW_BOOKS = 2000

/** The rarest word of a search as a whole word, and as a prefix; undefined if FEW_BOOKS or more have it. */
interface RareWords {
  readonly exact?: string | undefined
  readonly prefix?: string | undefined
}

/**
 * All texts are compared as bytes, which in UTF-8 sort like code points. The columns of an existing table may have any
 * collation, and even utf8mb4_bin ignores trailing spaces.
 */
export function dialectOf(yearKey: string, keys: KeySource, rare: RareWords = {}): Dialect {
  const names = { ...(keys === 'computed' ? COMPUTED_KEYS : STORED_KEYS), year: yearKey }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    keyOf: (name, text) => keyFrom(keys, name, text),
    equals: (name, placeholder) => `CAST(COALESCE(${name}, '') AS BINARY) = ${placeholder}`,
    hasWords(words, exact, bind) {
      const rarest = exact ? rare.exact : rare.prefix
      // Not a join for each word, because the server would take long to plan many joins.
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

/** Without the hint, MariaDB with the statistics of an empty table looks up all books with the word for each book. */
const hasWord = (word: string, exact: boolean, bind: Bind) =>
  `(SELECT 1 FROM ${WORDS} FORCE INDEX (PRIMARY) WHERE book = books.id AND ${matches(word, exact, bind)} LIMIT 1) IS NOT NULL`

const matches = (word: string, exact: boolean, bind: Bind) =>
  exact ? `word = ${bind(word)}` : `word >= ${bind(word)} AND word < CONCAT(${bind(word)}, 0xFF)`
