import type { Book, BookChanges, FieldValue, NewBook } from './book.ts'
import type { BookFilter, BookQuery, Position } from './query.ts'

/**
 * Where the books are kept. Every engine keeps the same promises:
 * - A write whose promise is fulfilled survives the death of the process and a power cut.
 * - Once a write is answered, every later read sees it, except a query that says it is incomplete.
 * - Each method rejects with StoreUnavailable when the store cannot be reached or cannot take the request now (locked,
 *   disk full, …). Any other failure rejects with the engine's own error. A rejected write is not acknowledged.
 */
export interface Store {
  /** Stores a new book under an id that no book has had before. */
  create(book: NewBook): Promise<Book>

  /** @returns the book, or undefined if there is none with that id. */
  find(id: number): Promise<Book | undefined>

  /**
   * The books of a query after a position, or from the first. Each page of a walk begins at the `last` of the one
   * before. The walk finds every book exactly once that exists from beginning to end and does not change; in the order
   * of ids, also a book that changes.
   */
  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page>

  /** The number of books that pass the filter. */
  count(filter: BookFilter, options?: QueryOptions): Promise<number>

  /** The numbers of these books for each decade and author. */
  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics>

  /**
   * Replaces the given fields in one atomic step, and keeps the others (§4 rule 2).
   * @param expected the book as `find` returned it. If it is no longer exactly the same, nothing changes.
   * @returns the stored book, or undefined if no book has that id or it is not as expected.
   */
  update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined>

  /**
   * @param expected as for `update`.
   * @returns whether there was a book with that id, as expected.
   */
  delete(id: number, expected?: Book): Promise<boolean>

  /**
   * Stores all of the books, or none if anything fails. Other writes go on meanwhile and wait only at the end. The ids
   * are in the order of the books.
   * @param groups each small enough to fit into memory several times. Their errors are rethrown.
   * @throws StoreNotEmpty
   */
  import(groups: AsyncIterable<readonly ImportedBook[]>, options?: ImportOptions): Promise<Imported>

  /** Rejects unless the store can be read, and also written if it is not meant for reads alone. */
  ready(): Promise<void>

  /** Numbers of used and waiting resources, for the metrics. Each engine chooses the names. */
  load(): Readonly<Record<string, number>>

  /** Releases everything. No other method may be called afterwards. */
  close(): Promise<void>
}

/** Options of a query. */
export interface QueryOptions {
  /** Cancels the query, waiting or running, and its work. It rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Who asks: when queries have to wait, the clients take turns. */
  readonly client?: string | undefined
  /**
   * Called before the query is answered from an index that is too far behind the writes to wait for it. The response
   * finds books by the words that they had when they were indexed, and no new books. It returns books as they are now.
   * It returns no deleted books, but may count them. In an order of texts, books that are not indexed have no place
   * yet: they come first, and may get their place in the middle of a walk.
   */
  readonly onIncomplete?: (() => void) | undefined
}

/** Counts of books. If there are many groups, only the largest are listed. */
export interface Statistics {
  /** Decades by their first years, in ascending order. */
  readonly decades: readonly { readonly decade: number; readonly books: number }[]
  /** Authors, cut to what counts in an order. The most books come first, then the sort keys decide. */
  readonly authors: readonly { readonly author: string; readonly books: number }[]
}

/** Limits of a page. A single book may be longer. */
export interface PageBounds {
  readonly books: number
  /** The total length of titles and authors, in bytes of UTF-8. */
  readonly text: number
}

/**
 * Some books in an order. One of its methods may be called, once, before anything else is waited for: an engine may
 * read the books only then, in the form that is asked for. Books that another thread deletes at that very moment are
 * then missing, so the result may be empty.
 */
export interface Page {
  /** The number of books. */
  readonly count: number
  /** The values of each book, in the order of COLUMNS. */
  rows(): readonly (readonly FieldValue[])[]
  /** The books as JSON texts, separated by commas. */
  json(): string
  /** The books as JSON texts, separated by line feeds, which do not occur in them. */
  lines(): string
  /** The position of the last book, if any. */
  readonly last: Position | undefined
  /** Whether books follow, or may follow a single book that is too long. */
  readonly more: boolean
}

/** The id matters only with `keepIds`. */
export type ImportedBook = NewBook & { readonly id?: number }

export interface ImportOptions {
  /**
   * Skips books that existed before with the same title, author and year. Books of the import are not compared with
   * each other, nor with those that others write while it is read.
   */
  readonly skipExisting?: boolean
  /** Counts what would be stored, and stores nothing. */
  readonly dryRun?: boolean
  /** Cancels the import. It soon throws the signal's reason, unless it is done. */
  readonly signal?: AbortSignal
  /** Stores the books with their own ids, which must ascend, in an empty store. New books get higher ids. */
  readonly keepIds?: boolean
}

/** Numbers of books that were stored and skipped, or would have been. */
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

/** Why a store cannot serve a request, as far as it can tell. */
export const UNAVAILABLE_REASONS = [
  /** Too many requests wait already. */
  'overload',
  /** It was not done in time. */
  'timeout',
  /** The database server cannot be reached, refuses connections, or has cut one. */
  'connection',
  /** Others hold a lock, or have changed the same book. */
  'conflict',
  /** The database takes no writes now, or the account lacks a right. */
  'read_only',
  /** The disk of the database is full or fails. */
  'disk',
  /** There is no room for a temporary file, which need not be on the disk of the database. */
  'temporary_disk',
  'other',
] as const
export type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number]

interface UnavailableOptions extends ErrorOptions {
  /** By default, that of the cause. */
  readonly reason?: UnavailableReason
  readonly nothingWritten?: boolean
}

/** The store cannot serve the request now; a later attempt may succeed. `cause` is the engine's error. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly reason: UnavailableReason
  /** Whether the operation has certainly written nothing, and never will. Otherwise it is not known. */
  readonly nothingWritten: boolean

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options)
    const { cause, reason, nothingWritten = false } = options
    this.reason = reason ?? (cause instanceof StoreUnavailable ? cause.reason : 'other')
    this.nothingWritten = nothingWritten
  }
}

/** The store cannot be opened. The message is for the operator: one line, complete, without secrets. */
export class StoreNotOpened extends Error {
  override readonly name = 'StoreNotOpened'
}
