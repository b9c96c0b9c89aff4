import { type Book, type BookChanges, FIELD_NAMES, type NewBook } from '../../catalogue/book.ts'
import type { Outcome } from './batcher.ts'
import { columnOrEmpty, TEXT_SIZE } from './page-sql.ts'

export interface Update {
  readonly id: number
  readonly changes: BookChanges
  readonly expected: Book | undefined
}

export interface Deletion {
  readonly id: number
  readonly expected: Book | undefined
}

/**
 * How an engine does several requests in one transaction. No two writes of a batch are for the same book. A batch
 * waits for no book that others have locked. It may leave any request undone.
 */
export interface Batches<Connection> {
  /** The ids are in the order of the books. */
  create(connection: Connection, books: readonly NewBook[]): Promise<Outcome<Book>[]>
  find(connection: Connection, ids: readonly number[]): Promise<Outcome<Book | undefined>[]>
  update(connection: Connection, updates: readonly Update[]): Promise<Outcome<Book | undefined>[]>
  delete(connection: Connection, deletions: readonly Deletion[]): Promise<Outcome<boolean>[]>
}

/**
 * A batch would take too much memory if all its stored books were long. So it leaves out those whose title and author
 * have more than 32 KiB together, in UTF-8.
 */
export const IS_SHORT = `${TEXT_SIZE} <= ${32 * 1024}`

/** The columns of a short book. Those of a long one are NULL, except the id. */
export const SHORT_BOOK = `id, ${FIELD_NAMES.map((name) => `CASE WHEN ${IS_SHORT} THEN ${columnOrEmpty(name)} END AS ${name}`).join(', ')}`

/** A row with the columns SHORT_BOOK. */
export type ShortBookRow = Book | ({ readonly id: number } & Readonly<Record<keyof NewBook, null>>)

/** The outcomes of reads. A long book is left undone. */
export function foundOf(ids: readonly number[], rows: readonly ShortBookRow[]): Outcome<Book | undefined>[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => {
    const row = byId.get(id)
    return row === undefined || row.title !== null ? { result: row } : undefined
  })
}
