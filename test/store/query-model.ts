import type { Book } from '../../src/catalogue/book.ts'
import type { BookFilter, BookQuery, SortField } from '../../src/catalogue/query.ts'
import { wordsOfBook } from '../../src/catalogue/search-words.ts'
import type { Statistics } from '../../src/catalogue/store.ts'

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

/** Whether the book has each of these words as a whole word. */
export function hasWholeWords(book: Pick<Book, 'title' | 'author'>, searched: readonly string[]): boolean {
  const words = new Set(wordsOfBook(book))
  return searched.every((word) => words.has(word))
}

function compareField({ name, descending }: SortField, a: Book, b: Book): number {
  const [left, right] = [a[name], b[name]]
  const difference =
    typeof left === 'string' && typeof right === 'string'
      ? compareText(left, right)
      : Number(left) - Number(right)
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

/** The books of a query in their order, as every engine has to find them. Texts must not be longer than a sort key. */
export function answerOf(books: readonly Book[], { filter, order }: BookQuery): Book[] {
  const found = books.filter((book) => passes(book, filter))
  if (order !== 'relevance') {
    return found.toSorted(
      (a, b) => order.map((field) => compareField(field, a, b)).find((difference) => difference !== 0) ?? 0,
    )
  }
  const isWhole = (book: Book) => hasWholeWords(book, filter.words ?? [])
  return found.toSorted((a, b) => Number(isWhole(b)) - Number(isWhole(a)) || a.id - b.id)
}

/** What Store.statistics has to answer for these books. */
export function statisticsOf(books: readonly Book[]): Statistics {
  const decades = Map.groupBy(books, ({ year }) => Math.floor(year / 10) * 10)
  const authors = Map.groupBy(books, ({ author }) => author)
  return {
    decades: Array.from(decades, ([decade, { length }]) => ({ decade, books: length }))
      .toSorted((a, b) => b.books - a.books || a.decade - b.decade)
      .slice(0, 200)
      .toSorted((a, b) => a.decade - b.decade),
    authors: Array.from(authors, ([author, { length }]) => ({ author, books: length }))
      .toSorted((a, b) => b.books - a.books || compareText(a.author, b.author))
      .slice(0, 20),
  }
}
