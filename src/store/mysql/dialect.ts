import { SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import type { Query } from '../client-server/queries.ts'
import type { Dialect } from '../query/dialect.ts'
import { WORDS } from './search-index.ts'

/** The sort keys, as they are computed. */
export const KEYS = {
  id: 'id',
  title: `CAST(LEFT(COALESCE(title, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  author: `CAST(LEFT(COALESCE(author, ''), ${SORT_KEY_LENGTH}) AS BINARY)`,
  year: 'COALESCE(year, 0)',
}

/** How the sort keys are written in statements. */
export type Keys = typeof KEYS

/** The columns that store them, which have indexes. */
export const KEY_COLUMNS: Keys = { id: 'id', title: 'title_key', author: 'author_key', year: 'year_key' }

/** At most so many books with a word are checked one by one. If there are more, a page in some order is found quickly. */
const FEW_BOOKS = 2000

/** The word of a search that the fewest books have, if few books have it: as a whole word, and as a prefix of one. */
export interface RareWords {
  readonly exact: string | undefined
  readonly prefix: string | undefined
}

/**
 * All texts are compared as bytes, which in UTF-8 have the order of code points. A column may have any collation, and
 * even utf8mb4_bin ignores spaces at the end.
 */
export function dialectOf(keys: Keys, rare: RareWords): Dialect {
  return {
    placeholder: () => '?',
    key: (name) => keys[name],
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

const hasWord = (word: string, exact: boolean, bind: Bind) =>
  `(SELECT 1 FROM ${WORDS} WHERE book = books.id AND ${matches(word, exact, bind)} LIMIT 1) IS NOT NULL`

const matches = (word: string, exact: boolean, bind: Bind) =>
  exact ? `word = ${bind(word)}` : `word >= ${bind(word)} AND word < CONCAT(${bind(word)}, 0xFF)`
