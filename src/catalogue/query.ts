import type { Book } from './book.ts'

/** Which books of all, in which order. */
export interface BookQuery {
  readonly filter: BookFilter
  readonly order: Order
}

/** What a book has to be; what is absent does not matter. */
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
 * The fields that decide, the last of them `id`; or by relevance to the words of the filter: first the books that
 * have every word as a whole one, then those where one is only a beginning, both in the order of ids.
 */
export type Order = readonly SortField[] | 'relevance'

export interface SortField {
  readonly name: keyof Book
  readonly descending: boolean
}

/** The order of ids. */
export const BY_ID: readonly SortField[] = [{ name: 'id', descending: false }]

/**
 * The place of a book in an order, also when there is no such book any more: the value of each of the fields, texts
 * cut to a sort key; or 0 for a book with whole words and 1 for another, and its id.
 */
export type Position = readonly (string | number)[]

/** The part of a text that decides on its place, in code points. All engines can index so much. */
export const SORT_KEY_LENGTH = 500

/** @param whole by relevance: whether the book has every word as a whole one. */
export function positionOf(book: Book, order: Order, whole: boolean): Position {
  if (order === 'relevance') return [whole ? 0 : 1, book.id]
  return order.map(({ name }) => sortKey(book[name]))
}

export function sortKey(value: string | number): string | number {
  if (typeof value === 'number' || value.length <= SORT_KEY_LENGTH) return value
  return [...value.slice(0, 2 * SORT_KEY_LENGTH)].slice(0, SORT_KEY_LENGTH).join('')
}
