import type { Book } from '../../catalogue/book.ts'
import {
  type BookQuery,
  type Order,
  type Position,
  positionOf,
  type SortField,
} from '../../catalogue/query.ts'
import type { Page, PageBounds } from '../../catalogue/store.ts'
import { type Condition, type Dialect, type Run, runs, type Value } from './dialect.ts'

/** A book that was found. */
export interface Found {
  readonly book: Book
  /** What decided on its place. Another than the book itself where an index may be a moment older. */
  readonly key: Book
}

/** Where an engine reads the books of a query. */
export interface Source {
  readonly dialect: Dialect
  /**
   * @param books at most so many of them, in the order of the run.
   * @param text the last of them is the one with which the titles and authors have so many bytes, in UTF-8.
   */
  read(run: Run, books: number, text: number): Promise<Found[]>
  /** The key of the field of the book that is the `number`th, from 1, of those with the condition, by that field. */
  keyAt(condition: Condition, field: SortField, number: number): Promise<Value | undefined>
}

/** What a book counts towards PageBounds.text: its title and author, in bytes of UTF-8. */
export const sizeOf = ({ title, author }: Book) => Buffer.byteLength(title) + Buffer.byteLength(author)

/** Reads a page as Store.page promises it. */
export async function readPage(
  source: Source,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
): Promise<Page> {
  const found = new Collection(bounds)
  const keyAhead = (condition: Condition, field: SortField) => source.keyAt(condition, field, found.wanted)
  for await (const run of runs(query, after, source.dialect, keyAhead)) {
    for (const each of await source.read(run, found.wanted, found.room)) found.add(each, run.whole)
    if (found.isComplete) break
  }
  return found.page(query.order)
}

/** The books of a page while they are found. */
export class Collection {
  readonly #found: (Found & Pick<Run, 'whole'>)[] = []
  readonly #books: number
  #room: number

  constructor({ books, text }: PageBounds) {
    this.#books = books
    this.#room = text
  }

  /** Books still wanted: one more than the page may have, to know whether there are more. */
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

  /** @param whole by relevance: whether it has every word as a whole one. */
  add({ book, key }: Found, whole: boolean): void {
    this.#found.push({ book, key, whole })
    this.#room -= sizeOf(book)
  }

  page(order: Order): Page {
    const more = this.isComplete
    // The one that is too many; a single book always has room.
    if (more && this.#found.length > 1) this.#found.pop()
    const last = this.#found.at(-1)
    return {
      json: JSON.stringify(this.#found.map(({ book }) => book)).slice(1, -1),
      last: last && positionOf(last.key, order, last.whole),
      more,
    }
  }
}
