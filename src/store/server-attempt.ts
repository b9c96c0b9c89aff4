import { describeError } from './connection-errors.ts'
import { type ConnectionPool, DEADLINE } from './connection-pool.ts'
import { StoreUnavailable } from './store.ts'

/** Attempts at what the server rolls back for the sake of others. */
const ATTEMPTS = 5

/** What an engine knows of its errors. */
export interface Faults {
  /** The database cannot be used now, and may be later. */
  isUnavailable(error: unknown): boolean
  /** The work was rolled back for the sake of others, and can be done again. */
  isRolledBack(error: unknown): boolean
}

/** How work is done on a connection of a store, with the attempts and within the time of any other. */
export type Use<Connection> = <Result>(work: (connection: Connection) => Promise<Result>) => Promise<Result>

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
