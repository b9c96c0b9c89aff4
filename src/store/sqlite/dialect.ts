import { INDEXED_FIELDS, type IndexedField, isNullable, TEXT_FIELDS } from '../../catalogue/book.ts'
import { type BookFilter, filtersTexts } from '../../catalogue/query.ts'
import { SEARCHED_LENGTH } from '../../catalogue/search-words.js'
import { sortKey } from '../../catalogue/sort-key.ts'
import type { Dialect, LookUp } from '../query/dialect.ts'
import type { Statements } from './connection.ts'
import { UNINDEXED } from './schema.ts'

/** The total size of the texts of a book, in bytes of UTF-8. */
export const TEXT_SIZE = TEXT_FIELDS.map((name) =>
  isNullable(name) ? `ifnull(octet_length(${name}), 0)` : `octet_length(${name})`,
).join(' + ')

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
  /** Whether the index lacks the keys of some books, which are then made. This is slower, but finds the same. */
  readonly isBehind?: boolean
}

/** An SQL function that makes the sort key of the field with this name. */
export const SORT_KEY = 'sort_key'

/** An SQL function that tells whether a title and an author have all words of a text as whole words. */
export const HAS_WORDS = 'has_words'

const keyOrMade = (name: IndexedField) =>
  `iif(${UNINDEXED}.id IS NULL, indexed.${name}_key, ${SORT_KEY}('${name}', ${name})) AS ${name}_key`

/** The keys of all books: those that the index lacks are made. */
const ALL_KEYS = `(
  SELECT books.id AS id, ${INDEXED_FIELDS.map(keyOrMade)}, year AS year_key
  FROM books LEFT JOIN ${UNINDEXED} USING (id) LEFT JOIN book_keys AS indexed ON indexed.id = books.id
) AS book_keys`

/** The tables that a filter needs. */
export function tablesOf(filter: BookFilter): Tables {
  const { words, title, author, ...years } = filter
  const texts = filtersTexts(filter)
  return { books: texts, keys: texts || Object.keys(years).length > 0, words: words !== undefined }
}

/**
 * Joins the tables by id. CROSS JOIN puts the words first, because checking many books in FTS5 one by one takes
 * seconds.
 */
export function joined({ books, keys, words, isBehind = false }: Tables): string {
  const keySource = isBehind ? ALL_KEYS : 'book_keys'
  if (!words) return keys ? `${keySource}${books ? ' JOIN books USING (id)' : ''}` : 'books'
  const join = (table: string, source = table) => ` CROSS JOIN ${source} ON ${table}.id = book_words.rowid`
  return `book_words${keys ? join('book_keys', keySource) : ''}${books ? join('books') : ''}`
}

/**
 * Writes conditions on these tables.
 * @param database where to look up what the index has.
 */
export function dialectOf({ keys, words, isBehind }: Tables, database?: Statements): Dialect {
  const id = words ? 'book_words.rowid' : keys ? 'book_keys.id' : 'id'
  const names = { id, title: 'title_key', author: 'author_key', year: 'year_key' }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    // Without an index, it is faster to compare the texts than to make a key of each.
    keyOf: (name, text) => (isBehind ? undefined : String(sortKey(name, text))),
    equals: (name, placeholder) => `${name} = ${placeholder}`,
    hasWords(words, exact, bind) {
      if (exact || words.length <= WORDS_AT_ONCE) return `book_words MATCH ${bind(matching(words, exact))}`
      // The longest words are mostly the rarest.
      const sorted = words.toSorted((a, b) => b.length - a.length)
      const [first = '', ...others] = groups(sorted, WORDS_AT_ONCE).map((some) => bind(matching(some, false)))
      // The + keeps SQLite from asking FTS5 for each id found.
      const found = others.map(
        (some) => `+${id} IN (SELECT rowid FROM book_words WHERE ${WANTED} AND book_words MATCH ${some})`,
      )
      return [`book_words MATCH ${first}`, ...found].join(' AND ')
    },
    hasTitle(from, to, words, bind) {
      const range = `title_key >= ${bind(from)} AND title_key < ${bind(to)}`
      // Keys that are made have no index.
      if (isBehind) return `${range} AND book_words MATCH ${bind(matching(words, true))}`
      // FTS5 takes twenty times as long to tell whether one book has the words.
      const texts = INDEXED_FIELDS.map((name) => `substr(${name}, 1, ${SEARCHED_LENGTH})`)
      return `${id} IN (SELECT id FROM book_keys WHERE ${range}) AND ${HAS_WORDS}(${texts}, ${bind(words.join(' '))})`
    },
    ...(database && !isBehind && { lookUp: lookUpIn(database) }),
    hasInTitle(text, bind) {
      // Most titles without the words are told in half the time.
      const isSomewhere = `instr(title_key, ${bind(text.trim())}) > 0`
      return `${isSomewhere} AND instr(' ' || substr(title_key, 1, instr(title_key, char(1)) - 1) || ' ', ${bind(text)}) > 0`
    },
    lacksWords: (words, bind) =>
      `${id} NOT IN (SELECT rowid FROM book_words WHERE ${WANTED} AND book_words MATCH ${bind(matching(words, true))})`,
  }
}

function lookUpIn(database: Statements): LookUp {
  const isThere = (condition: string, ...values: string[]) =>
    database.prepare(`SELECT 1 FROM ${condition} LIMIT 1`).get(...values) !== undefined
  return {
    isTitle: (from, to) => isThere('book_keys WHERE title_key >= ? AND title_key < ?', from, to),
    areWords: (words) => isThere('book_words WHERE book_words MATCH ?', matching(words, true)),
  }
}

function groups(words: readonly string[], size: number): (readonly string[])[] {
  return Array.from({ length: Math.ceil(words.length / size) }, (_, i) =>
    words.slice(i * size, (i + 1) * size),
  )
}

/** Writes an FTS5 query. Words have only letters, digits and marks, which have no special meaning there. */
function matching(words: readonly string[], exact: boolean): string {
  return words.map((word) => `"${word}"${exact ? '' : '*'}`).join(' AND ')
}
