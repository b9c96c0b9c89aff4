import type { Book, BookChanges, NewBook } from './book.ts'
import type { BookFilter, BookQuery, Position } from './query.ts'

/**
 * Where the books are kept. Every engine keeps the same promises:
 * - A write whose promise is fulfilled survives the death of the process and a power cut.
 * - Once a write is answered, every later read sees it, except a query that says it is incomplete.
 * - Each method rejects with StoreUnavailable when the store cannot be reached or cannot take the request now
 *   (locked, disk full, …), and with the engine's own error for anything unexpected; the write is then not
 *   acknowledged.
 */
export interface Store {
  /** Stores a new book under an id that no book has had before. */
  create(book: NewBook): Promise<Book>

  /** @returns the book, or undefined if there is none with that id. */
  find(id: number): Promise<Book | undefined>

  /**
   * All books in the order of ids, as pages of bounded size, none of them empty. A page is the JSON text of its
   * books, separated by commas, so that an engine that writes JSON need not make objects of them first. Each page
   * is read when it is asked for: a book that is there from beginning to end comes exactly once, as it was when
   * its page was read.
   * @param pages 'csv' for pages of lines of CSV instead.
   */
  list(pages?: 'json' | 'csv'): AsyncIterable<string>

  /**
   * The books of a query after a position, or from the first. Walking from page to page, each from the `last` of
   * the one before, finds every book exactly once that is there from beginning to end, unless it is changed.
   * @param signal gives the query up, waiting or running: it rejects with the reason of the signal, and costs no more.
   */
  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page>

  /** How many books there are of those that the filter lets through. */
  count(filter: BookFilter, options?: QueryOptions): Promise<number>

  /** How many of them there are of each decade and by each author. */
  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics>

  /**
   * Replaces the fields given, in one atomic step, and keeps the others (§4 rule 2).
   * @param expected as `find` answered it: nothing is changed unless the book is exactly so when it is changed.
   * @returns the book as stored, or undefined if there is none with that id, or none as expected.
   */
  update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined>

  /**
   * @param expected as for `update`.
   * @returns whether there was a book with that id, and as expected.
   */
  delete(id: number, expected?: Book): Promise<boolean>

  /**
   * Stores many books: all of them, or none if anything fails. Other writes go on meanwhile, and wait for no more
   * than the last moment. The ids are in the order of the books.
   * @param groups each of a size that fits into memory several times. What they throw is thrown on.
   * @throws StoreNotEmpty
   */
  import(groups: AsyncIterable<readonly ImportedBook[]>, options?: ImportOptions): Promise<Imported>

  /** What is in use and what waits, each number with a name of the engine's own; for the metrics. */
  load(): Readonly<Record<string, number>>

  /** Releases everything. No other method may be called afterwards. */
  close(): Promise<void>
}

/** What a caller may say with a query. */
export interface QueryOptions {
  /** Gives the query up, waiting or running: it rejects with the reason of the signal, and costs no more. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called before the query is answered from a search index that is too far behind the writes to wait for it. A book is
   * then found by the words that it had when it was indexed, and a new one not at all. It is given as it is now, and a
   * deleted one is not, but may count.
   */
  readonly onIncomplete?: (() => void) | undefined
}

/** Counts of books; of many groups only those with the most books. */
export interface Statistics {
  /** A decade by its first year, in their order. */
  readonly decades: readonly { readonly decade: number; readonly books: number }[]
  /** Those with the most books first, then by their sort keys, which they are cut to. */
  readonly authors: readonly { readonly author: string; readonly books: number }[]
}

/** What a page may hold; a single book may be longer. */
export interface PageBounds {
  readonly books: number
  /** The length of titles and authors together, in bytes of UTF-8. */
  readonly text: number
}

export interface Page {
  /** The JSON text of the books, separated by commas. */
  readonly json: string
  /** That of the last book, if there is any. */
  readonly last: Position | undefined
  /** Whether books follow; after a single book that is too long, whether they may. */
  readonly more: boolean
}

/** The id matters only where ids are kept. */
export type ImportedBook = NewBook & { readonly id?: number }

export interface ImportOptions {
  /**
   * Passes over books that were there before, with the same title, author and year. Those of the import itself are
   * not compared with each other, nor with what others write while it is read.
   */
  readonly skipExisting?: boolean
  /** Counts what would be stored, and stores nothing. */
  readonly dryRun?: boolean
  /** Aborted when nobody waits for the import any more. It then ends soon, and throws the reason, unless it is done. */
  readonly signal?: AbortSignal
  /** Stores the books with their own ids, which rise, in a store that has no book. New books get higher ones. */
  readonly keepIds?: boolean
}

/** How many books were stored and passed over; or would have been. */
export interface Imported {
  readonly added: number
  readonly skipped: number
}

/** Ids cannot be kept, because there are books already. */
export class StoreNotEmpty extends Error {
  override readonly name = 'StoreNotEmpty'

  constructor() {
    super('there are books already')
  }
}

/** The store cannot serve the request now; a later attempt may succeed. `cause` is the engine's error. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The store cannot be opened. The message is for the operator: one line, complete, without secrets. */
export class StoreNotOpened extends Error {
  override readonly name = 'StoreNotOpened'
}
