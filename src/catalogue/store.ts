import type { Book, BookChanges, FieldValue, NewBook } from './book.ts'
import type { BookFilter, BookQuery, Position } from './query.ts'

/**
 * The storage of the books. Every engine keeps these promises:
 * - A write whose promise is fulfilled survives the death of the process and a power cut.
 * - Every read after that sees the write, except a query that reports that it is incomplete.
 * - A method rejects with StoreUnavailable if the store cannot be reached or cannot serve the request now (locked, disk
 *   full, …), and with the engine's own error for any other failure. A rejected write is not acknowledged.
 */
export interface Store {
  /** Stores a new book under an id that no book has had before. */
  create(book: NewBook): Promise<Book>

  find(id: number): Promise<Book | undefined>

  /** The bounds of the pages with which the engine reads a long list fastest. */
  readonly listBounds: PageBounds

  /**
   * Reads the books of a query after a position, or from the first one. A client that continues from the `last` of each
   * page gets every book exactly once that exists throughout and does not change; in the order of ids, also one that
   * changes.
   */
  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page>

  count(filter: BookFilter, options?: QueryOptions): Promise<number>

  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics>

  /**
   * Replaces the given fields atomically, and keeps the others (§4 rule 2).
   * @param expected the book as `find` returned it. If the stored book differs, nothing changes.
   * @returns the stored book, or undefined if no book has the id or it differs from `expected`.
   */
  update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined>

  /** @returns whether a book had the id and, if given, was exactly as `expected`. */
  delete(id: number, expected?: Book): Promise<boolean>

  /**
   * Stores all of the books, or none if anything fails. Ids ascend in the order of the books. Other writes continue
   * meanwhile, and wait only at the end.
   * @param groups each has to fit into memory several times. Errors of the iteration are rethrown.
   * @throws StoreNotEmpty
   */
  import(groups: AsyncIterable<readonly ImportedBook[]>, options?: ImportOptions): Promise<Imported>

  /** Rejects unless the store can be read and, if it is not for reads only, written. */
  ready(): Promise<void>

  /** Gauges for the metrics, under names that each engine chooses. */
  load(): Readonly<Record<string, number>>

  /** No other method may be called afterwards. */
  close(): Promise<void>
}

export interface QueryOptions {
  /** Cancels the query, also while it runs. It then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Identifies the client: when queries have to wait, the clients take turns. */
  readonly client?: string | undefined
  /**
   * Called before the result if the index is too far behind the writes to wait for it. The query then finds books by
   * the words that they had when they were indexed, and no new books. It returns books as they are now, and none that
   * are deleted, although it may count these. In an order by title or author, books that are not indexed come first,
   * and may move to their place between two pages.
   */
  readonly onIncomplete?: (() => void) | undefined
}

/** If there are many groups, only the largest are listed. */
export interface Statistics {
  /** Ascending. A decade is named by its first year. */
  readonly decades: readonly { readonly decade: number; readonly books: number }[]
  /** Those with the most books first, equal ones in the order of sort keys. Authors are cut to COMPARED_LENGTH. */
  readonly authors: readonly { readonly author: string; readonly books: number }[]
}

/** Limits of a page. A single book may exceed `text`. */
export interface PageBounds {
  readonly books: number
  /** The total length of titles and authors, in bytes of UTF-8. */
  readonly text: number
}

/**
 * Consecutive books of a query. Call only one of the methods, once, and await nothing else before: an engine may read
 * the books only then, in the requested form. Books that another thread has just deleted are then missing, so the
 * result may be empty.
 */
export interface Page {
  readonly count: number
  /** The values of each book, in the order of COLUMNS. */
  rows(): readonly (readonly FieldValue[])[]
  /** The books as JSON texts, separated by commas. */
  json(): string
  /** The books as JSON texts, separated by line feeds, which do not occur in them. */
  lines(): string
  readonly last: Position | undefined
  /** Whether books follow. It may be wrongly true after a single book that exceeds the limits. */
  readonly more: boolean
}

/** The id is ignored unless `keepIds` is set. */
export type ImportedBook = NewBook & { readonly id?: number }

export interface ImportOptions {
  /**
   * Skips books of which the store already has one with the same fields. Books of the import are not compared with each
   * other, nor necessarily with those that others write during the import.
   */
  readonly skipExisting?: boolean
  readonly dryRun?: boolean
  /** Cancels the import, which soon rejects with the signal's reason, unless it is already done. */
  readonly signal?: AbortSignal
  /** Keeps the ids of the books, which must ascend. Requires an empty store. New books get higher ids. */
  readonly keepIds?: boolean
}

/** The numbers of books; in a dry run, those that would be stored and skipped. */
export interface Imported {
  readonly added: number
  readonly skipped: number
}

/** Ids cannot be kept, because the store has books already. */
export class StoreNotEmpty extends Error {
  override readonly name = 'StoreNotEmpty'

  constructor() {
    super('there are books already')
  }
}

export const UNAVAILABLE_REASONS = [
  'overload',
  'timeout',
  /** The database server cannot be reached, refuses connections, or has closed one. */
  'connection',
  /** Others hold a lock or have changed the same book. */
  'conflict',
  /** The database accepts no writes now, or the account lacks a privilege. */
  'read_only',
  /** The disk of the database is full or failing. */
  'disk',
  /** There is no space for a temporary file, which may be on another disk than the database. */
  'temporary_disk',
  'other',
] as const
export type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number]

interface UnavailableOptions extends ErrorOptions {
  /** Defaults to that of the cause. */
  readonly reason?: UnavailableReason
  readonly nothingWritten?: boolean
}

/** The store cannot serve the request now. A later attempt may succeed. `cause` is the engine's error. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly reason: UnavailableReason
  /** Whether the operation certainly has written nothing and never will. If false, this is not known. */
  readonly nothingWritten: boolean

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options)
    const { cause, reason, nothingWritten = false } = options
    this.reason = reason ?? (cause instanceof StoreUnavailable ? cause.reason : 'other')
    this.nothingWritten = nothingWritten
  }
}

/** The message is for the operator: one complete line without secrets. */
export class StoreNotOpened extends Error {}
