import { type Book, textSize } from '../../catalogue/book.ts'
import { pageOf } from '../../catalogue/page.ts'
import {
  type BookQuery,
  type Order,
  type Position,
  positionOf,
  type SortField,
  type SortKeys,
} from '../../catalogue/query.ts'
import type { Page, PageBounds } from '../../catalogue/store.ts'
import type { Dialect, Value, WhereClause } from './dialect.ts'
import { type KeyRange, keyRanges } from './key-ranges.ts'

/** A book that was found. */
export interface Found {
  readonly book: Book
  /** The book whose fields decided on its place: an older state of the book if the index is behind. */
  readonly key: SortKeys
}

/** Reads the books of a query. */
export interface BookSource {
  readonly dialect: Dialect
  /**
   * Reads the first books of a range, in its order.
   * @param books at most so many.
   * @param text the last one is that with which the texts reach so many bytes of UTF-8.
   */
  read(range: KeyRange, books: number, text: number): Promise<Found[]>
  /** Sorts the books by the field. @returns the key of the `number`th book, from 1. */
  keyAt(books: WhereClause, field: SortField, number: number): Promise<Value | undefined>
}

/** Reads a page as Store.page promises. */
export async function readPage(
  source: BookSource,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
): Promise<Page> {
  const found = new PageBuilder(bounds)
  const keyAhead = (books: WhereClause, field: SortField) => source.keyAt(books, field, found.wanted)
  for await (const range of keyRanges(query, after, source.dialect, keyAhead)) {
    for (const each of await source.read(range, found.wanted, found.room)) found.add(each, range.rank)
    if (found.isComplete) break
  }
  return found.page(query.order)
}

/** Collects the books of a page. */
class PageBuilder {
  readonly #found: (Found & Pick<KeyRange, 'rank'>)[] = []
  readonly #books: number
  #room: number

  constructor({ books, text }: PageBounds) {
    this.#books = books
    this.#room = text
  }

  /** The number of books still wanted: one more than the page may have, to know whether there are more. */
  get wanted(): number {
    return this.#books + 1 - this.#found.length
  }

  /** The number of bytes of text still wanted. */
  get room(): number {
    return this.#room
  }

  get isComplete(): boolean {
    return this.wanted === 0 || this.#room <= 0
  }

  add({ book, key }: Found, rank: number): void {
    this.#found.push({ book, key, rank })
    this.#room -= textSize(book)
  }

  page(order: Order): Page {
    const more = this.isComplete
    // The last book is one too many. A single book always fits.
    if (more && this.#found.length > 1) this.#found.pop()
    const last = this.#found.at(-1)
    return pageOf(
      this.#found.map(({ book }) => book),
      { last: last && positionOf(last.key, order, last.rank), more },
    )
  }
}
