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
  const found = new PageBuilder(bounds)
  const keyAhead = (books: WhereClause, field: SortField) => source.keyAt(books, field, found.wanted)
  for await (const range of keyRanges(query, after, source.dialect, keyAhead)) {
    for (const each of await source.read(range, found.wanted, found.room)) found.add(each, range.rank)
    if (found.isComplete) break
  }
  return found.page(query.order)
}

class PageBuilder {
  readonly #found: (Found & Pick<KeyRange, 'rank'>)[] = []
  readonly #books: number
  #room: number

  constructor({ books, text }: PageBounds) {
    this.#books = books
    this.#room = text
  }

  /** The number of books still wanted: one more than the page may have, to learn whether more follow. */
  get wanted(): number {
    return this.#books + 1 - this.#found.length
  }

  /** Bytes of text still wanted. */
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
    // The last book is one too many. A single book is kept, because the page must not be empty.
    if (more && this.#found.length > 1) this.#found.pop()
    const last = this.#found.at(-1)
    return pageOf(
      this.#found.map(({ book }) => book),
      { last: last && positionOf(last.key, order, last.rank), more },
    )
  }
}
