import {
  type Book,
  type BookChanges,
  bookOf,
  changedFields,
  FIELD_NAMES,
  type FieldName,
  type NewBook,
} from '../../catalogue/book.ts'
import type { Outcome } from './batcher.ts'
import { isShort, type ShortBookRow, shortBook } from './page-sql.ts'

export interface Update {
  readonly id: number
  readonly changes: BookChanges
  readonly expected: Book | undefined
}

export interface Deletion {
  readonly id: number
  readonly expected: Book | undefined
}

/** What an engine does on a connection for the requests of a batch. */
export interface BatchStatements<Connection> {
  /** The rows of these books. */
  find(connection: Connection, ids: readonly number[]): Promise<ShortBookRow[]>
  /**
   * Stores new books under ids in their order. It may leave out any.
   * @param end nothing is stored after this time of `Date.now()`, as far as the engine can tell.
   */
  create(connection: Connection, books: readonly NewBook[], end: number): Promise<(Book | undefined)[]>
  begin(connection: Connection): Promise<unknown>
  /** Locks and returns those of the books that are short and not locked by others. */
  lock(connection: Connection, ids: readonly number[]): Promise<Book[]>
  /** Changes these fields of locked books. @returns the books as they are stored now. */
  write(
    connection: Connection,
    fields: readonly FieldName[],
    changes: readonly Change[],
  ): Promise<readonly Book[]>
  /** Deletes locked books. @returns the ids of those that were deleted. */
  remove(connection: Connection, ids: readonly number[]): Promise<readonly number[]>
  commit(connection: Connection): Promise<unknown>
}

/** A book as it was, as it becomes, and the fields that change. */
export interface Change {
  readonly fields: readonly FieldName[]
  readonly from: Book
  readonly to: Book
}

/**
 * A batch would take too much memory if all its stored books were long. So it leaves out those whose title and author
 * have more bytes.
 */
const MAX_TEXT = 32 * 1024
export const IS_SHORT = isShort(MAX_TEXT)
export const SHORT_BOOK = shortBook(MAX_TEXT)

/** Does the requests of batches. No two writes of a batch are for the same book, and no batch waits for a lock. */
export class Batches<Connection> {
  readonly #statements: BatchStatements<Connection>
  readonly #isUnknownSyntax: (error: unknown) => boolean
  /** What the server has refused because it does not know the statement. All such requests are left undone. */
  readonly #unsupported = new Set<string>()

  constructor(statements: BatchStatements<Connection>, isUnknownSyntax: (error: unknown) => boolean) {
    this.#statements = statements
    this.#isUnknownSyntax = isUnknownSyntax
  }

  async find(connection: Connection, ids: readonly number[]): Promise<Outcome<Book | undefined>[]> {
    if (ids.length === 0) return []
    const rows = await this.#statements.find(connection, ids)
    const found = byId(rows)
    return ids.map((id) => {
      const row = found.get(id)
      return row === undefined || row.title !== null ? { result: row } : undefined
    })
  }

  async create(connection: Connection, books: readonly NewBook[], end: number): Promise<Outcome<Book>[]> {
    if (this.#unsupported.has('create')) return books.map(() => undefined)
    const created = await this.#ifSupported('create', this.#statements.create(connection, books, end))
    return created.map((result) => result && { result })
  }

  async update(connection: Connection, updates: readonly Update[]): Promise<Outcome<Book | undefined>[]> {
    if (this.#unsupported.has('lock')) return updates.map(() => undefined)
    const { begin, write, commit } = this.#statements
    await begin(connection)
    const locked = await this.#lock(connection, updates)
    const changes = updates.flatMap(({ changes }, i) => {
      const from = locked[i]
      return from ? [changeOf(from, changes)] : []
    })
    const written: Book[] = []
    // One statement for those that change the same fields; mostly that is all.
    for (const [first, ...others] of Map.groupBy(changes, ({ fields }) => fields.join()).values())
      if (first !== undefined) written.push(...(await write(connection, first.fields, [first, ...others])))
    await commit(connection)
    const stored = byId(written)
    return updates.map(({ id }) => {
      const result = stored.get(id)
      return result && { result }
    })
  }

  async delete(connection: Connection, deletions: readonly Deletion[]): Promise<Outcome<boolean>[]> {
    if (this.#unsupported.has('lock')) return deletions.map(() => undefined)
    const { begin, remove, commit } = this.#statements
    await begin(connection)
    const locked = await this.#lock(connection, deletions)
    const ids = locked.flatMap((book) => (book ? [book.id] : []))
    const removed = new Set(ids.length > 0 ? await remove(connection, ids) : [])
    await commit(connection)
    return deletions.map(({ id }) => (removed.has(id) ? { result: true } : undefined))
  }

  /** @returns the book of each request, if it could be locked and is as expected. */
  async #lock(
    connection: Connection,
    requests: readonly (Update | Deletion)[],
  ): Promise<(Book | undefined)[]> {
    const ids = requests.map(({ id }) => id)
    const books = await this.#ifSupported('lock', this.#statements.lock(connection, ids))
    const locked = byId(books)
    return requests.map(({ id, expected }) => {
      const book = locked.get(id)
      const isExpected =
        expected === undefined || FIELD_NAMES.every((name) => book?.[name] === expected[name])
      return isExpected ? book : undefined
    })
  }

  async #ifSupported<Result>(kind: 'create' | 'lock', result: Promise<Result>): Promise<Result> {
    try {
      return await result
    } catch (error) {
      if (this.#isUnknownSyntax(error)) this.#unsupported.add(kind)
      throw error
    }
  }
}

export function byId<Row extends Pick<Book, 'id'>>(rows: readonly Row[]): ReadonlyMap<number, Row> {
  return new Map(rows.map((row) => [row.id, row]))
}

/** Callers may send other fields too, even an id: they do not count. */
function changeOf(from: Book, changes: BookChanges): Change {
  const fields = changedFields(changes)
  const changed = Object.fromEntries(fields.map((name) => [name, changes[name]]))
  return { fields, from, to: bookOf({ ...from, ...changed }) }
}
