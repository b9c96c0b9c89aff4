import { type Book, INDEXED_FIELDS, type IndexedField } from './book.ts'

/** A selection of books, and their order. */
export interface BookQuery {
  readonly filter: BookFilter
  readonly order: Order
  /** What was searched, as `wordsOfKey` makes it of a title. Relevance ranks titles by it. */
  readonly searchedTitle?: string
}

/** Conditions on a book. Absent ones do not matter. */
export interface BookFilter {
  readonly title?: string
  readonly author?: string
  readonly year?: number
  readonly yearMin?: number
  readonly yearMax?: number
  /** As `searchedWords` makes them; not empty. */
  readonly words?: readonly string[]
}

/**
 * Sort fields, the last of them `id`, or relevance to the words of the filter. Relevance has four ranks: books with just
 * the searched title, books with all words of the search in the title, other books with every word as a whole word, and
 * books with only the beginning of one. Within a rank, books are in the order of their ids.
 */
export type Order = readonly SortField[] | 'relevance'

/** The fields by which books can be sorted. */
export const SORT_NAMES = ['id', 'title', 'author', 'year'] as const
export type SortName = (typeof SORT_NAMES)[number]

/** The sort keys that place a book in an order. */
export type SortKeys = Pick<Book, SortName>

export interface SortField {
  readonly name: SortName
  readonly descending: boolean
}

/** The order of ids, if these are all books in it; otherwise undefined. */
export function idOrder({ filter, order }: BookQuery): SortField | undefined {
  const first = order === 'relevance' ? undefined : order[0]
  return first?.name === 'id' && Object.keys(filter).length === 0 ? first : undefined
}

/** The order of ids. */
export const BY_ID: readonly SortField[] = [{ name: 'id', descending: false }]

/** All books in the order of their ids. */
export const ALL_BOOKS: BookQuery = { filter: {}, order: BY_ID }

/**
 * The place of a book in an order, even if the book is gone: the sort key of each sort field. By relevance, it is the
 * rank, from 0, and the id.
 */
export type Position = readonly (string | number)[]

/** @param rank for relevance. */
export function positionOf(keys: SortKeys, order: Order, rank: number): Position {
  if (order === 'relevance') return [rank, keys.id]
  return order.map(({ name }) => keys[name])
}

/** The texts by which books are sorted. */
export function textsIn(order: Order): IndexedField[] {
  return order === 'relevance' ? [] : INDEXED_FIELDS.filter((text) => order.some(({ name }) => name === text))
}

export function filtersTexts({ title, author }: BookFilter): boolean {
  return title !== undefined || author !== undefined
}
