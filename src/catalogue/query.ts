import { type Book, INDEXED_FIELDS, type IndexedField } from './book.ts'

export interface BookQuery {
  readonly filter: BookFilter
  readonly order: Order
  /** The search text as `wordsOfKey` makes it of a title, for the ranks of relevance. */
  readonly searchedTitle?: string
}

/** A book has to meet all conditions that are present. */
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
 * Sort fields, of which the last is `id`; or relevance to the words of the filter, in four ranks: books whose title is
 * just what was searched; books with all words in the title; other books with every word as a whole word; and books
 * with only the beginning of one. Within a rank, books are in the order of ids.
 */
export type Order = readonly SortField[] | 'relevance'

export const SORT_NAMES = ['id', 'title', 'author', 'year'] as const
export type SortName = (typeof SORT_NAMES)[number]

/** The values that place a book in an order: of `title` and `author`, their sort keys. */
export type SortKeys = Pick<Book, SortName>

export interface SortField {
  readonly name: SortName
  readonly descending: boolean
}

/** @returns the sort field `id` if the query is for all books in the order of ids; otherwise undefined. */
export function idOrder({ filter, order }: BookQuery): SortField | undefined {
  const first = order === 'relevance' ? undefined : order[0]
  return first?.name === 'id' && Object.keys(filter).length === 0 ? first : undefined
}

export const BY_ID: readonly SortField[] = [{ name: 'id', descending: false }]

export const ALL_BOOKS: BookQuery = { filter: {}, order: BY_ID }

/**
 * The place of a book in an order, valid even after the book is deleted: the sort key of each sort field; by relevance,
 * the rank, from 0, and the id.
 */
export type Position = readonly (string | number)[]

/** @param rank used only by relevance. */
export function positionOf(keys: SortKeys, order: Order, rank: number): Position {
  if (order === 'relevance') return [rank, keys.id]
  return order.map(({ name }) => keys[name])
}

export function textsIn(order: Order): IndexedField[] {
  return order === 'relevance' ? [] : INDEXED_FIELDS.filter((text) => order.some(({ name }) => name === text))
}

export function filtersTexts({ title, author }: BookFilter): boolean {
  return title !== undefined || author !== undefined
}
