import type { Book } from './book.ts'

/** A selection of books, and their order. */
export interface BookQuery {
  readonly filter: BookFilter
  readonly order: Order
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
 * Sort fields, the last of them `id`, or relevance to the words of the filter. By relevance, books that have every word
 * as a whole word come first. Books with only the beginning of a word follow. Both are ordered by id.
 */
export type Order = readonly SortField[] | 'relevance'

/** The fields by which books can be sorted. */
export const SORT_NAMES = ['id', 'title', 'author', 'year'] as const
export type SortName = (typeof SORT_NAMES)[number]

/** The values that place a book in an order. */
export type SortKeys = Pick<Book, SortName>

export interface SortField {
  readonly name: SortName
  readonly descending: boolean
}

/** The order of ids. */
export const BY_ID: readonly SortField[] = [{ name: 'id', descending: false }]

/**
 * The place of a book in an order, even if the book is gone: the value of each sort field, with texts cut to sort keys.
 * By relevance, it is 0 for whole words or 1 for others, and the id.
 */
export type Position = readonly (string | number)[]

/** The length of a sort key, in code points. All engines can index this much. */
export const SORT_KEY_LENGTH = 500

/** @param whole whether the book has every search word as a whole word, for relevance. */
export function positionOf(book: SortKeys, order: Order, whole: boolean): Position {
  if (order === 'relevance') return [whole ? 0 : 1, book.id]
  return order.map(({ name }) => sortKey(book[name]))
}

export function sortKey(value: string | number): string | number {
  if (typeof value === 'number' || value.length <= SORT_KEY_LENGTH) return value
  return [...value.slice(0, 2 * SORT_KEY_LENGTH)].slice(0, SORT_KEY_LENGTH).join('')
}
