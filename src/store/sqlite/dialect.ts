import { type BookFilter, SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import type { Dialect } from '../query/dialect.ts'

/** The function with which a query that was given up is stopped: it throws. */
export const IS_WANTED = 'is_wanted'

/**
 * A condition that calls it for every row. It goes before all others, because SQLite would not come to it in a row that
 * another one refuses.
 */
export const WANTED = `${IS_WANTED}()`

/**
 * Words that FTS5 looks up at once at most: to look up a beginning takes it up to 0.15 seconds among a million books, in
 * which nothing can stop it.
 */
const WORDS_AT_ONCE = 2

/** The tables in which queries find books: the books themselves, and their index (sqlite-index.ts). */
export interface Tables {
  readonly books: boolean
  readonly keys: boolean
  readonly words: boolean
  /** Whether the keys are made of the books, because their index is behind: it takes longer, and finds the same. */
  readonly isBehind?: boolean
}

const KEYS_OF_BOOKS = `(
  SELECT id, substr(title, 1, ${SORT_KEY_LENGTH}) AS title_key, substr(author, 1, ${SORT_KEY_LENGTH}) AS author_key,
    year AS year_key
  FROM books
) AS book_keys`

/** The tables that a filter needs. */
export function tablesOf({ words, title, author, ...years }: BookFilter): Tables {
  const texts = title !== undefined || author !== undefined
  return { books: texts, keys: texts || Object.keys(years).length > 0, words: words !== undefined }
}

/**
 * The tables joined by the id. The words come first, which CROSS JOIN makes sure of: to ask FTS5 for each of many books
 * whether it has them takes seconds.
 */
export function joined({ books, keys, words, isBehind = false }: Tables): string {
  const keySource = isBehind ? KEYS_OF_BOOKS : 'book_keys'
  if (!words) return keys ? `${keySource}${books ? ' JOIN books USING (id)' : ''}` : 'books'
  const join = (table: string, source = table) => ` CROSS JOIN ${source} ON ${table}.id = book_words.rowid`
  return `book_words${keys ? join('book_keys', keySource) : ''}${books ? join('books') : ''}`
}

/**
 * How conditions are written on these tables.
 * @param skipYears whether indexes of years are not to be used.
 */
export function dialectOf({ keys, words }: Tables, skipYears = false): Dialect {
  const id = words ? 'book_words.rowid' : keys ? 'book_keys.id' : 'id'
  // SQLite looks for no index of an expression such as `+year_key`.
  const names = { id, title: 'title_key', author: 'author_key', year: skipYears ? '+year_key' : 'year_key' }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    equals: (name, placeholder) => `${name} = ${placeholder}`,
    hasWords(words, whole, bind) {
      if (whole || words.length <= WORDS_AT_ONCE) return `book_words MATCH ${bind(matching(words, whole))}`
      // The longest words are mostly the rarest.
      const sorted = words.toSorted((a, b) => b.length - a.length)
      const [first = '', ...others] = groups(sorted, WORDS_AT_ONCE).map((some) => bind(matching(some, false)))
      // The + keeps SQLite from asking FTS5 for each of the ids that it has found.
      const found = others.map(
        (some) => `+${id} IN (SELECT rowid FROM book_words WHERE ${WANTED} AND book_words MATCH ${some})`,
      )
      return [`book_words MATCH ${first}`, ...found].join(' AND ')
    },
    lacksWords: (words, bind) =>
      `${id} NOT IN (SELECT rowid FROM book_words WHERE ${WANTED} AND book_words MATCH ${bind(matching(words, true))})`,
  }
}

function groups(words: readonly string[], size: number): (readonly string[])[] {
  return Array.from({ length: Math.ceil(words.length / size) }, (_, i) =>
    words.slice(i * size, (i + 1) * size),
  )
}

/** In the language of FTS5. Words have letters, digits and marks only, none of which means anything there. */
function matching(words: readonly string[], whole: boolean): string {
  return words.map((word) => `"${word}"${whole ? '' : '*'}`).join(' AND ')
}
