import type { DatabaseSync } from 'node:sqlite'
import {
  type Book,
  COLUMNS,
  INDEXED_FIELDS,
  type IndexedField,
  isNullable,
  isTextField,
  TEXT_FIELDS,
} from '../../catalogue/book.ts'
import { type BookFilter, filtersTexts } from '../../catalogue/query.ts'
import { SEARCHED_LENGTH, wordsOfBook } from '../../catalogue/search-words.js'
import { COMPARED_LENGTH, sortKey } from '../../catalogue/sort-key.ts'
import { type Condition, conditionOf, type Dialect, type LookUp } from '../query/dialect.ts'
import type { Statements } from './connection.ts'
import { UNINDEXED } from './schema.ts'

/** An SQL expression: the total size of a book's texts, in bytes of UTF-8. */
export const TEXT_SIZE = TEXT_FIELDS.map((name) =>
  isNullable(name) ? `ifnull(octet_length(${name}), 0)` : `octet_length(${name})`,
).join(' + ')

/**
 * An SQL expression: the value of a column. Another program may store a year that no number of JavaScript can be, for
 * which node:sqlite throws. It is read as the nearest one that can.
 */
export const readable = (name: keyof Book) =>
  name === 'id' || isTextField(name)
    ? name
    : `max(min(${name}, ${Number.MAX_SAFE_INTEGER}), ${Number.MIN_SAFE_INTEGER})`

/** The columns of a book, in the order of COLUMNS. */
export const VALUES = COLUMNS.map((name) => `${readable(name)} AS ${name}`)

/** An SQL function that throws if the query was cancelled, and so stops it. */
const IS_WANTED = 'is_wanted'

/** A condition that calls it for every row. It must come first: SQLite skips it where an earlier condition fails. */
export const WANTED = `${IS_WANTED}()`

/**
 * The most beginnings of words in one FTS5 query. Looking one up takes up to 0.15 seconds among a million books, and
 * cannot be interrupted.
 */
const WORDS_AT_ONCE = 2

/** The tables that a query reads: the books, and their index (search-index.ts). */
export interface Tables {
  readonly books: boolean
  readonly keys: boolean
  readonly words: boolean
  /** Whether the index lacks the keys of some books. The query then computes them: slower, with the same result. */
  readonly isBehind?: boolean
}

/** An SQL function that computes a sort key from the name and the text of a field. */
const SORT_KEY = 'sort_key'

/** An SQL function: whether a title and an author together have all words of a text, as whole words if `isExact`. */
const HAS_WORDS = 'has_words'

/** @param isWanted throws if the query was cancelled. */
export function addFunctions(connection: DatabaseSync, isWanted: () => number): void {
  connection.function(IS_WANTED, isWanted)
  connection.function(SORT_KEY, { deterministic: true }, (name, text) =>
    sortKey(name as IndexedField, String(text)),
  )
  connection.function(HAS_WORDS, { deterministic: true }, (title, author, words, isExact) => {
    const has = wordsOfBook({ title: String(title), author: String(author) })
    const hasWord = (word: string) => has.some((each) => (isExact ? each === word : each.startsWith(word)))
    return Number(String(words).split(' ').every(hasWord))
  })
}

/** @param words the placeholder of a text with a space between the words. */
const hasWords = (words: string, isExact: boolean) => {
  const texts = INDEXED_FIELDS.map((name) => `substr(${name}, 1, ${SEARCHED_LENGTH})`)
  return `${HAS_WORDS}(${texts}, ${words}, ${isExact})`
}

/**
 * A condition for the books that the index lacks: they must meet the filter themselves. Others may have written them
 * after the index was brought up to date for this query, and it has their former words and years.
 */
export function meetsFilter(filter: BookFilter, dialect: Dialect): Condition {
  const { where, values } = conditionOf(filter, {
    ...dialect,
    key: (name) => `books.${name}`,
    keyOf: () => undefined,
    hasWords: (words, isExact, bind) => hasWords(bind(words.join(' ')), isExact),
  })
  // With OR, SQLite would check the filter first, for every book.
  return { where: values.length === 0 ? 'TRUE' : `iif(books.id IN ${UNINDEXED}, ${where}, TRUE)`, values }
}

/** Only the part that counts is passed on, because node:sqlite keeps all arguments until the statement ends. */
const keyOrMade = (name: IndexedField) =>
  `iif(${UNINDEXED}.id IS NULL, indexed.${name}_key, ${SORT_KEY}('${name}', substr(${name}, 1, ${COMPARED_LENGTH}))) AS ${name}_key`

/** The keys of all books. Those that the index lacks are computed. */
const ALL_KEYS = `(
  SELECT books.id AS id, ${INDEXED_FIELDS.map(keyOrMade)}, ${readable('year')} AS year_key
  FROM books LEFT JOIN ${UNINDEXED} USING (id) LEFT JOIN book_keys AS indexed ON indexed.id = books.id
) AS book_keys`

export function tablesOf(filter: BookFilter): Tables {
  const { words, title, author, ...years } = filter
  const texts = filtersTexts(filter)
  return { books: texts, keys: texts || Object.keys(years).length > 0, words: words !== undefined }
}

/**
 * Joins the tables by id. CROSS JOIN makes SQLite read the words first: checking many books in FTS5 one by one takes
 * seconds.
 */
export function joined({ books, keys, words, isBehind }: Tables): string {
  const keySource = isBehind ? ALL_KEYS : 'book_keys'
  if (!words) return keys ? `${keySource}${books ? ' JOIN books USING (id)' : ''}` : 'books'
  const join = (table: string, source = table) => ` CROSS JOIN ${source} ON ${table}.id = book_words.rowid`
  return `book_words${keys ? join('book_keys', keySource) : ''}${books ? join('books') : ''}`
}

/** @param database for `lookUp`, which is missing without it. */
export function dialectOf({ keys, words, isBehind }: Tables, database?: Statements): Dialect {
  const id = words ? 'book_words.rowid' : keys ? 'book_keys.id' : 'id'
  const names = { id, title: 'title_key', author: 'author_key', year: 'year_key' }
  return {
    placeholder: () => '?',
    key: (name) => names[name],
    // Where keys have to be computed, comparing the texts is faster.
    keyOf: (name, text) => (isBehind ? undefined : String(sortKey(name, text))),
    equals: (name, placeholder) => `${name} = ${placeholder}`,
    hasWords(words, exact, bind) {
      if (exact || words.length <= WORDS_AT_ONCE) return `book_words MATCH ${bind(matching(words, exact))}`
      // The longest words are usually the rarest.
      const sorted = words.toSorted((a, b) => b.length - a.length)
      const [first = '', ...others] = groups(sorted, WORDS_AT_ONCE).map((some) => bind(matching(some, false)))
      // Without the unary +, SQLite would look up each of these ids in FTS5.
      const found = others.map(
        (some) => `+${id} IN (SELECT rowid FROM book_words WHERE ${WANTED} AND book_words MATCH ${some})`,
      )
      return [`book_words MATCH ${first}`, ...found].join(' AND ')
    },
    hasTitle(from, to, words, bind) {
      const range = `title_key >= ${bind(from)} AND title_key < ${bind(to)}`
      // Computed keys have no index.
      if (isBehind) return `${range} AND book_words MATCH ${bind(matching(words, true))}`
      // FTS5 would take twenty times as long as the function to check a single book.
      return `${id} IN (SELECT id FROM book_keys WHERE ${range}) AND ${hasWords(bind(words.join(' ')), true)}`
    },
    ...(database && !isBehind && { lookUp: lookUpIn(database) }),
    hasInTitle(text, bind) {
      // Excludes most titles without the words in half the time.
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

/** @returns an FTS5 query. No character of a word has a special meaning there. */
function matching(words: readonly string[], exact: boolean): string {
  return words.map((word) => `"${word}"${exact ? '' : '*'}`).join(' AND ')
}
