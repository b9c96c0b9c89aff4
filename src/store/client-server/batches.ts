import { channel } from 'node:diagnostics_channel'
import { type Book, type BookChanges, changedFields, type NewBook, textLength } from '../../catalogue/book.ts'
import { Batcher, type Grouping, type Operation, type Outcome } from './batcher.ts'
import type { ShortBookRow } from './page-sql.ts'
import type { ConnectionPool } from './pool.ts'

/** The message is the number of requests in a batch. */
const groupCommits = channel('book-catalogue.group-commit')
const batchedReads = channel('book-catalogue.batched-reads')

/** Batches of reads under way at the same time: while the server answers one, the next is built. */
const READ_BATCHES = 2

/** One for each kind of write: what arrives during a commit shares the next, and ids are in the order of arrival. */
const WRITE_BATCHES = 1

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
export function batchesOf<Connection>(pool: ConnectionPool<Connection>, books: BookStatements<Connection>) {
  /** @param perform gives the outcome of each request; undefined for one that was left undone. */
  function batcher<Request, Result>(
    kind: 'read' | 'write',
    perform: (
      connection: Connection,
      requests: readonly Request[],
      end: number,
      alone: boolean,
    ) => Promise<readonly Outcome<Result>[]>,
    grouping: Grouping<Request> = {},
  ) {
    const isWrite = kind === 'write'
    const operation: Operation<Request, Result> = {
      ...grouping,
      isWrite,
      perform: (take, time, alone) =>
        pool.run(
          async (connection) => {
            const { requests, end } = take()
            return requests.length === 0 ? [] : perform(connection, requests, end, alone)
          },
          { time, kind, isConflictRepeated: alone || !isWrite },
        ),
      isRepeatable: (error) => !isWrite || pool.hasDoneNothing(error),
      isUnknown: (error) => pool.isUnknownSyntax(error),
      onBatch: (requests) => (isWrite ? groupCommits : batchedReads).publish(requests),
    }
    return new Batcher(operation, isWrite ? WRITE_BATCHES : READ_BATCHES, pool.timeout)
  }
  const outcomeOf = <Result>(result: Result | undefined) => (result === undefined ? undefined : { result })

  return {
    reads: batcher<number, Book | undefined>('read', async (connection, ids, _end, alone) => {
      const [first = 0, ...others] = ids
      if (alone || others.length === 0) return [{ result: await books.read(connection, first) }]
      const found = byId(await books.find(connection, ids))
      return ids.map((id) => {
        const row = found.get(id)
        return row === undefined || row.title !== null ? { result: row } : undefined
      })
    }),

    creates: batcher<NewBook, Book>(
      'write',
      async (...given) => (await books.create(...given)).map(outcomeOf),
      { lengthOf: textLength },
    ),

    updates: batcher<Update, Book>(
      'write',
      async (connection, updates, end, alone) => {
        const stored = byId(await books.update(connection, updates, end, alone))
        return updates.map(({ id }) => outcomeOf(stored.get(id)))
      },
      {
        keyOf: ({ id }) => id,
        shapeOf: ({ changes, expected }) => `${changedFields(changes)} ${expected !== undefined}`,
        lengthOf: ({ changes, expected }) => textLength(changes) + textLength(expected ?? {}),
      },
    ),

    deletions: batcher<Deletion, true>(
      'write',
      async (connection, deletions, end, alone) => {
        const deleted = new Set(await books.delete(connection, deletions, end, alone))
        return deletions.map(({ id }) => (deleted.has(id) ? { result: true } : undefined))
      },
      {
        keyOf: ({ id }) => id,
        shapeOf: ({ expected }) => String(expected !== undefined),
        lengthOf: ({ expected }) => textLength(expected ?? {}),
      },
    ),
  }
}

export const byId = <Row extends Pick<Book, 'id'>>(rows: readonly Row[]): ReadonlyMap<number, Row> =>
  new Map(rows.map((row) => [row.id, row]))
