import { TEXT_FIELDS } from '../../catalogue/book.ts'
import { type BookFilter, SORT_KEY_LENGTH } from '../../catalogue/query.ts'
import type { Dialect } from '../query/dialect.ts'

/** The total size of the texts of a book, in bytes of UTF-8. */
export const TEXT_SIZE = TEXT_FIELDS.map((name) => `octet_length(${name})`).join(' + ')

/** An SQL function that throws to stop an abandoned query. */
export const IS_WANTED = 'is_wanted'

/**
 * A condition that calls it for every row. It comes first, because SQLite skips it where an earlier condition fails.
 */
export const WANTED = `${IS_WANTED}()`

/**
 * The most words that FTS5 looks up at once. A prefix lookup takes up to 0.15 seconds among a million books, and
 * nothing can stop it.
 */
const WORDS_AT_ONCE = 2

/** The tables that a query reads: the books and their index (search-index.ts). */
export interface Tables {
  readonly books: boolean
  readonly keys: boolean
  readonly words: boolean
  /** Whether keys are computed from the books, because their index is behind. This is slower, but finds the same. */
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
 * Joins the tables by id. CROSS JOIN puts the words first, because checking many books in FTS5 one by one takes
 * seconds.
 */
export function joined({ books, keys, words, isBehind = false }: Tables): string {
  const keySource = isBehind ? KEYS_OF_BOOKS : 'book_keys'
  if (!words) return keys ? `${keySource}${books ? ' JOIN books USING (id)' : ''}` : 'books'
  const join = (table: string, source = table) => ` CROSS JOIN ${source} ON ${table}.id = book_words.rowid`
  return `book_words${keys ? join('book_keys', keySource) : ''}${books ? join('books') : ''}`
}

interface DialectOptions {
  /** Whether to avoid the indexes of years. */
  readonly skipYears?: boolean
  /** Called before words are looked up by prefix, which may take long. */
  readonly beforeLookUp?: ((words: readonly string[]) => void) | undefined
}

/** Writes conditions on these tables. */
export function dialectOf(
  { keys, words }: Tables,
  { skipYears = false, beforeLookUp }: DialectOptions = {},
): Dialect {
  const id = words ? 'book_words.rowid' : keys ? 'book_keys.id' : 'id'
  // SQLite uses no index for an expression such as `+year_key`.
  const names = { id, title: 'title_key', author: 'author_key', year: skipYears ? '+year_key' : 'year_key' }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    equals: (name, placeholder) => `${name} = ${placeholder}`,
    hasWords(words, whole, bind) {
      if (!whole) beforeLookUp?.(words)
      if (whole || words.length <= WORDS_AT_ONCE) return `book_words MATCH ${bind(matching(words, whole))}`
      // The longest words are mostly the rarest.
      const sorted = words.toSorted((a, b) => b.length - a.length)
      const [first = '', ...others] = groups(sorted, WORDS_AT_ONCE).map((some) => bind(matching(some, false)))
      // The + keeps SQLite from asking FTS5 for each id found.
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

/** Writes an FTS5 query. Words have only letters, digits and marks, which have no special meaning there. */
function matching(words: readonly string[], whole: boolean): string {
  return words.map((word) => `"${word}"${whole ? '' : '*'}`).join(' AND ')
}
