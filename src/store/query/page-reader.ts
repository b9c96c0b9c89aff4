import { type Book, textSize } from '../../catalogue/book.ts'
import { pageOf } from '../../catalogue/page.ts'
import {
  type BookQuery,
  type Position,
  positionOf,
  type SortField,
  type SortKeys,
} from '../../catalogue/query.ts'
import type { Page, PageBounds } from '../../catalogue/store.ts'
import type { Dialect, Value, WhereClause } from './dialect.ts'
import { type KeyRange, keyRanges } from './key-ranges.ts'

export interface Found {
  readonly book: Book
  /** The sort keys that decided its place: of an older state of the book if the index is behind. */
  readonly key: SortKeys
}

/** What an engine implements, so that pages can be read. */
export interface BookSource {
  readonly dialect: Dialect
  /**
   * Reads the first books of a range in its order, at most `books`.
   * @param text bytes of UTF-8. The book with which the texts reach this total is the last.
   */
  read(range: KeyRange, books: number, text: number): Promise<Found[]>
  /** @returns the key of the `number`th book, from 1, in the order of the field; undefined if there are fewer. */
  keyAt(books: WhereClause, field: SortField, number: number): Promise<Value | undefined>
}

/** Implements Store.page. */
export async function readPage(
  source: BookSource,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
): Promise<Page> {
  const found: (Found & Pick<KeyRange, 'rank'>)[] = []
  /** One book more than the page may have, to learn whether more follow. */
  const wanted = () => bounds.books + 1 - found.length
  /** Bytes of text still wanted. */
  let room = bounds.text
  const isComplete = () => wanted() === 0 || room <= 0
  const keyAhead = (books: WhereClause, field: SortField) => source.keyAt(books, field, wanted())
  for await (const range of keyRanges(query, after, source.dialect, keyAhead)) {
    for (const each of await source.read(range, wanted(), room)) {
      found.push({ ...each, rank: range.rank })
      room -= textSize(each.book)
    }
    if (isComplete()) break
  }
  const more = isComplete()
  // The last book is one too many. A single book is kept, because the page must not be empty.
  if (more && found.length > 1) found.pop()
  const last = found.at(-1)
  const books = found.map(({ book }) => book)
  return pageOf(books, { last: last && positionOf(last.key, query.order, last.rank), more })
}
