import type { Book, NewBook } from '../book.ts'
import { describeError } from './connection-errors.ts'
import { type ConnectionPool, DEADLINE } from './connection-pool.ts'
import { StoreUnavailable } from './store.ts'

/** The fields as values for the placeholders of a statement. */
export function fieldsOf({ title, author, year }: NewBook): [title: string, author: string, year: number] {
  return [title, author, year]
}

/** Attempts at what the server rolls back for the sake of others. */
const ATTEMPTS = 5

/** What an engine knows of its errors. */
export interface Faults {
  /** The database cannot be used now, and may be later. */
  isUnavailable(error: unknown): boolean
  /** The work was rolled back for the sake of others, and can be done again. */
  isRolledBack(error: unknown): boolean
}

/**
 * Does the work on a connection of the pool.
 * @param time that all attempts may take together, in milliseconds.
 * @throws StoreUnavailable for what Faults calls so; else what the work throws.
 */
export async function attempt<Connection, Result>(
  pool: ConnectionPool<Connection>,
  faults: Faults,
  work: (connection: Connection) => Promise<Result>,
  time: number = DEADLINE,
): Promise<Result> {
  const end = Date.now() + time
  for (let attempts = 1; ; attempts++) {
    try {
      return await pool.use(work, end - Date.now())
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      if (faults.isRolledBack(error) && attempts < ATTEMPTS) continue
      if (faults.isUnavailable(error)) throw new StoreUnavailable(describeError(error), { cause: error })
      throw error
    }
  }
}

/**
 * All books as pages of JSON text, each read when it is asked for. The first two have the time of one together,
 * because an answer begins only when both are there.
 */
export async function* pages(read: (after: number, time: number) => Promise<Book[]>): AsyncIterable<string> {
  const end = Date.now() + DEADLINE
  let after = 0
  for (let page = 1; ; page++) {
    const books = await read(after, page <= 2 ? end - Date.now() : DEADLINE)
    const last = books.at(-1)
    if (last === undefined) return
    after = last.id
    const json = JSON.stringify(books).slice(1, -1)
    // What a driver has done with them is garbage that survives for long: of a million books 130 MB, without this.
    books.length = 0
    yield json
  }
}
