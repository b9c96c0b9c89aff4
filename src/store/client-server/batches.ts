import { channel } from 'node:diagnostics_channel'
import { type Book, type BookChanges, changedFields, type NewBook, textLength } from '../../catalogue/book.ts'
import { Batcher } from './batcher.ts'
import type { ShortBookRow } from './page-sql.ts'
import type { ConnectionPool } from './pool.ts'

/** The message is the number of requests in a batch. */
const groupCommits = channel('book-catalogue.group-commit')
const batchedReads = channel('book-catalogue.batched-reads')

/** Batches of reads under way at the same time: while the server answers one, the next is built. */
const READ_BATCHES = 2

/** One for each kind of write: what arrives during a commit shares the next, and ids are in the order of arrival. */
const WRITE_BATCHES = 1

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
export class BatchedBooks<Connection> {
  readonly #pool: ConnectionPool<Connection>
  readonly #reads: Batcher<number, Book | undefined>
  readonly #creates: Batcher<NewBook, Book | undefined>
  readonly #updates: Batcher<Update, Book | undefined>
  readonly #deletions: Batcher<Deletion, boolean>

  constructor(pool: ConnectionPool<Connection>, books: BookStatements<Connection>) {
    this.#pool = pool
    this.#reads = new Batcher(
      {
        together: (take, time) =>
          pool.run(
            async (connection) => {
              const { requests: ids } = take()
              const [first, ...others] = ids
              if (first === undefined) return []
              if (others.length === 0) return [{ result: await books.read(connection, first) }]
              const found = byId(await books.find(connection, ids))
              return ids.map((id) => {
                const row = found.get(id)
                return row === undefined || row.title !== null ? { result: row } : undefined
              })
            },
            { time, kind: 'read' },
          ),
        alone: (id, time) => pool.run((connection) => books.read(connection, id), { time, kind: 'read' }),
        isRepeatable: () => true,
        isWrite: false,
        onBatch: (requests) => batchedReads.publish(requests),
      },
      READ_BATCHES,
      pool.timeout,
    )
    this.#creates = this.#writes<NewBook, Book | undefined>({
      write: (connection, requests, end, alone) => books.create(connection, requests, end, alone),
      isDone: (book) => book !== undefined,
      lengthOf: textLength,
    })
    this.#updates = this.#writes<Update, Book | undefined>({
      async write(connection, updates, end, alone) {
        const stored = byId(await books.update(connection, updates, end, alone))
        return updates.map(({ id }) => stored.get(id))
      },
      isDone: (book) => book !== undefined,
      keyOf: ({ id }) => id,
      shapeOf: ({ changes, expected }) => `${changedFields(changes)} ${expected !== undefined}`,
      lengthOf: ({ changes, expected }) => textLength(changes) + textLength(expected ?? {}),
    })
    this.#deletions = this.#writes<Deletion, boolean>({
      async write(connection, deletions, end, alone) {
        const deleted = new Set(await books.delete(connection, deletions, end, alone))
        return deletions.map(({ id }) => deleted.has(id))
      },
      isDone: (isDeleted) => isDeleted,
      keyOf: ({ id }) => id,
      shapeOf: ({ expected }) => String(expected !== undefined),
      lengthOf: ({ expected }) => textLength(expected ?? {}),
    })
  }

  async create(book: NewBook): Promise<Book> {
    const created = await this.#creates.do(book)
    if (created === undefined) throw new Error('INSERT returned no row')
    return created
  }

  find(id: number): Promise<Book | undefined> {
    return this.#reads.do(id)
  }

  update(update: Update): Promise<Book | undefined> {
    return this.#updates.do(update)
  }

  delete(deletion: Deletion): Promise<boolean> {
    return this.#deletions.do(deletion)
  }

  get waiting(): number {
    return [this.#reads, this.#creates, this.#updates, this.#deletions].reduce(
      (sum, { waiting }) => sum + waiting,
      0,
    )
  }

  /** Makes the batcher for one kind of write. */
  #writes<Request, Result>({ write, isDone, ...rest }: Writes<Connection, Request, Result>) {
    const pool = this.#pool
    return new Batcher<Request, Result>(
      {
        ...rest,
        together: (take, time) =>
          pool.run(
            async (connection) => {
              const { requests, end } = take()
              if (requests.length === 0) return []
              const results = await write(connection, requests, end, false)
              return results.map((result) => (isDone(result) ? { result } : undefined))
            },
            { time, attempts: 1 },
          ),
        alone: async (request, time) => {
          const [result] = await pool.run((connection, end) => write(connection, [request], end, true), {
            time,
          })
          return result as Result
        },
        isRepeatable: (error) => pool.hasDoneNothing(error),
        isUnknown: (error) => pool.isUnknownSyntax(error),
        isWrite: true,
        onBatch: (requests) => groupCommits.publish(requests),
      },
      WRITE_BATCHES,
      pool.timeout,
    )
  }
}

interface Writes<Connection, Request, Result> {
  /** @returns the result of each request, in their order. */
  write(
    connection: Connection,
    requests: readonly Request[],
    end: number,
    alone: boolean,
  ): Promise<readonly Result[]>
  /** Whether a result is final. Otherwise the request is done alone. */
  isDone(result: Result): boolean
  keyOf?(request: Request): number
  shapeOf?(request: Request): string
  lengthOf(request: Request): number
}

export const byId = <Row extends Pick<Book, 'id'>>(rows: readonly Row[]): ReadonlyMap<number, Row> =>
  new Map(rows.map((row) => [row.id, row]))
