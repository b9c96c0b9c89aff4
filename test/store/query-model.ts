import type { Book } from '../../src/catalogue/book.ts'
import type { BookFilter, BookQuery, SortField } from '../../src/catalogue/query.ts'
import { searchedWords, wordsOfBook } from '../../src/catalogue/search-words.js'
import { wordsOfKey } from '../../src/catalogue/sort-key.ts'
import type { Statistics } from '../../src/catalogue/store.ts'
import { compareByWords, referenceKey, usualNumbers } from '../catalogue/sort-key-reference.ts'

/** Compares by code point, unlike `<`, which compares UTF-16 code units. */
export function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  const i = left.findIndex((character, i) => character !== right[i])
  if (i === -1) return left.length - right.length
  return (left[i]?.codePointAt(0) ?? -1) - (right[i]?.codePointAt(0) ?? -1)
}

/** Whether a search for these words finds the book. */
export function hasWords(book: Pick<Book, 'title' | 'author'>, searched: readonly string[]): boolean {
  const words = wordsOfBook(book)
  return searched.every((prefix) => words.some((word) => word.startsWith(prefix)))
}

/** The query of a search, in the order of relevance. */
export function searchFor(text: string): BookQuery {
  return {
    filter: { words: searchedWords(text) },
    order: 'relevance',
    searchedTitle: wordsOfKey('title', text),
  }
}

/** Whether the book has each of these words as a whole word. */
export function hasWholeWords(book: Pick<Book, 'title' | 'author'>, searched: readonly string[]): boolean {
  const words = new Set(wordsOfBook(book))
  return searched.every((word) => words.has(word))
}

/** The rank of a book that has all words of a search as whole words. */
function titleRank(title: string, searchedTitle: string): number {
  const [words] = referenceKey('title', title)
  if (searchedTitle === '' || !hasInTitle(words, searchedTitle)) return 2
  return words === searchedTitle ? 0 : 1
}

/** A letter of a script without spaces between words, or of Korean. */
const INSIDE =
  /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Hang}]/v

/** Whether a title has all words of a search; in scripts without spaces, and in Korean, also inside words. */
function hasInTitle(title: string, searched: string): boolean {
  return searched.split(' ').every((word) => {
    if (!INSIDE.test(word)) return title.split(' ').includes(word)
    // Not the beginning of a number only.
    return title.split(word).some((rest, i) => i > 0 && !(/[0-9]$/.test(word) && /^[0-9]/.test(rest)))
  })
}

/** Says which text is sorted first. */
type CompareTexts = (name: 'title' | 'author', a: string, b: string) => number

/** Compares by words, then by the texts themselves. */
export function compareWords(name: 'title' | 'author', a: string, b: string): number {
  const [left, right] = [referenceKey(name, a), referenceKey(name, b)]
  return compareByWords(left[0], right[0]) || compareText(left[1], right[1])
}

function compareField({ name, descending }: SortField, a: Book, b: Book, compare: CompareTexts): number {
  const difference =
    name === 'title' || name === 'author' ? compare(name, a[name], b[name]) : a[name] - b[name]
  return descending ? -difference : difference
}

function passes(book: Book, { title, author, year, yearMin, yearMax, words }: BookFilter): boolean {
  return (
    (title === undefined || book.title === title) &&
    (author === undefined || book.author === author) &&
    (year === undefined || book.year === year) &&
    (yearMin === undefined || book.year >= yearMin) &&
    (yearMax === undefined || book.year <= yearMax) &&
    (words === undefined || hasWords(book, words))
  )
}

/** The books of a query in their order, as every engine has to find them. */
export function responseOf(
  books: readonly Book[],
  { filter, order, searchedTitle = '' }: BookQuery,
  compare: CompareTexts = compareWords,
): Book[] {
  const found = books.filter((book) => passes(book, filter))
  if (order !== 'relevance') {
    return found.toSorted(
      (a, b) =>
        order.map((field) => compareField(field, a, b, compare)).find((difference) => difference !== 0) ?? 0,
    )
  }
  const rank = (book: Book) =>
    hasWholeWords(book, filter.words ?? []) ? titleRank(book.title, usualNumbers(searchedTitle)) : 3
  return found.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id)
}

/** What Store.statistics has to answer for these books. */
export function statisticsOf(books: readonly Book[], compare: CompareTexts = compareWords): Statistics {
  const decades = Map.groupBy(books, ({ year }) => Math.floor(year / 10) * 10)
  const authors = Map.groupBy(books, ({ author }) => author)
  return {
    decades: Array.from(decades, ([decade, { length }]) => ({ decade, books: length }))
      .toSorted((a, b) => b.books - a.books || a.decade - b.decade)
      .slice(0, 200)
      .toSorted((a, b) => a.decade - b.decade),
    authors: Array.from(authors, ([author, { length }]) => ({ author, books: length }))
      .toSorted((a, b) => b.books - a.books || compare('author', a.author, b.author))
      .slice(0, 20),
  }
}
