import { type Book, type BookChanges, changedFields, type NewBook, textLength } from '../../catalogue/book.ts'
import { Batcher } from './batcher.ts'
import type { ShortBookRow } from './page-sql.ts'
import type { ConnectionPool } from './pool.ts'

export interface Deletion {
  readonly id: number
  readonly expected: Book | undefined
}

export interface Update extends Deletion {
  readonly changes: BookChanges
}

/**
 * What an engine does on a connection for requests that arrived together. No two updates or deletions are of the same
 * book. A batch leaves out long books, and books that others have locked. A request that is done `alone` waits for the
 * lock, with statements that every server knows. As far as the engine can tell, nothing is written after `end`, a time
 * of `Date.now()`.
 */
export interface BookStatements<Connection> {
  read(connection: Connection, id: number): Promise<Book | undefined>
  find(connection: Connection, ids: readonly number[]): Promise<readonly ShortBookRow[]>
  /** Stores new books, with ascending ids in their order. @returns all of them. */
  create(connection: Connection, books: readonly NewBook[], end: number, alone: boolean): Promise<Book[]>
  /**
   * Changes the same fields of all books. Either all updates have an expected book, or none.
   * @returns the books that were there as expected, as they are stored now.
   */
  update(
    connection: Connection,
    updates: readonly Update[],
    end: number,
    alone: boolean,
  ): Promise<readonly Book[]>
  /** Either all deletions have an expected book, or none. @returns the ids of the books that were deleted. */
  delete(
    connection: Connection,
    deletions: readonly Deletion[],
    end: number,
    alone: boolean,
  ): Promise<readonly number[]>
}

/** Requests for single books. Those that arrive together share statements and commits. */
export const batchesOf = <Connection>(
  pool: ConnectionPool<Connection>,
  books: BookStatements<Connection>,
) => ({
  /** The result is null if there is no such book. */
  reads: new Batcher<Connection, number, Book | null>(pool, {
    kind: 'read',
    async perform(connection, ids, _end, alone) {
      const [first = 0, ...others] = ids
      if (alone || others.length === 0) return [(await books.read(connection, first)) ?? null]
      const found = byId(await books.find(connection, ids))
      return ids.map((id) => {
        const row = found.get(id)
        return row === undefined ? null : row.title === null ? undefined : row
      })
    },
  }),

  // One batch at a time: what arrives during a commit shares the next, and ids are in the order of arrival.
  creates: new Batcher<Connection, NewBook, Book>(pool, {
    kind: 'write',
    perform: (...given) => books.create(...given),
    lengthOf: textLength,
  }),

  updates: new Batcher<Connection, Update, Book>(pool, {
    kind: 'write',
    async perform(connection, updates, end, alone) {
      const stored = byId(await books.update(connection, updates, end, alone))
      return updates.map(({ id }) => stored.get(id))
    },
    keyOf: ({ id }) => id,
    shapeOf: ({ changes, expected }) => `${changedFields(changes)} ${expected !== undefined}`,
    lengthOf: ({ changes, expected }) => textLength(changes) + textLength(expected ?? {}),
  }),

  deletions: new Batcher<Connection, Deletion, true>(pool, {
    kind: 'write',
    async perform(connection, deletions, end, alone) {
      const deleted = new Set(await books.delete(connection, deletions, end, alone))
      return deletions.map(({ id }) => deleted.has(id) || undefined)
    },
    keyOf: ({ id }) => id,
    shapeOf: ({ expected }) => String(expected !== undefined),
    lengthOf: ({ expected }) => textLength(expected ?? {}),
  }),
})

export const byId = <Row extends Pick<Book, 'id'>>(rows: readonly Row[]): ReadonlyMap<number, Row> =>
  new Map(rows.map((row) => [row.id, row]))
