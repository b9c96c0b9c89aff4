import { SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import type { Query } from '../client-server/queries.ts'
import type { Dialect } from '../query/dialect.ts'

/** The columns of the table by which it has indexes, as they are computed. */
export const KEYS = {
  id: 'id',
  title: `CAST(LEFT(COALESCE(title, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  author: `CAST(LEFT(COALESCE(author, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  year: 'COALESCE(year, 0)',
}

const KEY_COLUMNS = { id: 'id', title: 'title_key', author: 'author_key', year: 'year_key' }

/** So many books that have a word can be looked at one by one; among more, those wanted are soon found in their order. */
const FEW_BOOKS = 2000

/** Of the words of a search the one that the fewest books have, if it is few of them. */
export interface RareWords {
  readonly whole: string | undefined
  readonly beginning: string | undefined
}

/**
 * All texts are compared as bytes, which in UTF-8 are in the order of code points: a column may have any collation,
 * and even utf8mb4_bin takes texts for equal that differ in spaces at their end.
 * @param hasKeys whether the table has columns for the keys.
 */
export function dialectOf(hasKeys: boolean, rare: RareWords): Dialect {
  return {
    placeholder: () => '?',
    key: (name) => (hasKeys ? KEY_COLUMNS : KEYS)[name],
    equals: (name, placeholder) => `CAST(COALESCE(${name}, '') AS BINARY) = ${placeholder}`,
    hasWords(words, whole, bind) {
      const first = whole ? rare.whole : rare.beginning
      // Not a join for each word: so many tables would take long to plan.
      const has = (word: string) =>
        word === first
          ? `id IN (SELECT book FROM book_words WHERE ${matches(word, whole, bind)})`
          : hasWord(word, whole, bind)
      return words.map(has).join(' AND ')
    },
    lacksWords: (words, bind) => `NOT (${words.map((word) => hasWord(word, true, bind)).join(' AND ')})`,
  }
}

/** Finds out how many books have each of the words, up to FEW_BOOKS. */
export async function findRareWords(words: readonly string[], query: Query): Promise<RareWords> {
  const values: string[] = []
  const bind = (word: string) => {
    values.push(word)
    return '?'
  }
  const count = (word: string, whole: boolean, name: string) =>
    `(SELECT COUNT(*) FROM (
      SELECT 1 FROM book_words WHERE ${matches(word, whole, bind)} LIMIT ${FEW_BOOKS}
    ) some) AS ${name}`
  const columns = words.flatMap((word, i) => [count(word, true, `w${i}`), count(word, false, `b${i}`)])
  const [row = {}] = (await query(`SELECT ${columns.join(', ')}`, values)) as Record<string, number>[]
  const rarest = (name: string) => {
    const counts = words.map((_, i) => row[`${name}${i}`] ?? FEW_BOOKS)
    const least = Math.min(...counts)
    return least < FEW_BOOKS ? words[counts.indexOf(least)] : undefined
  }
  return { whole: rarest('w'), beginning: rarest('b') }
}

type Bind = (value: string) => string

const hasWord = (word: string, whole: boolean, bind: Bind) =>
  `(SELECT 1 FROM book_words WHERE book = books.id AND ${matches(word, whole, bind)} LIMIT 1) IS NOT NULL`

const matches = (word: string, whole: boolean, bind: Bind) =>
  whole ? `word = ${bind(word)}` : `word >= ${bind(word)} AND word < CONCAT(${bind(word)}, 0xFF)`
