import { StoreUnavailable } from '../catalogue/store.ts'
import { describeError } from './client-server/network-errors.ts'
import { type ConnectionPool, DEADLINE, type UseOptions } from './client-server/pool.ts'

/** Attempts at what the server rolls back for the sake of others. */
const ATTEMPTS = 5

/** What an engine knows of its errors. */
export interface Faults {
  /** The database cannot be used now, and may be later. */
  isUnavailable(error: unknown): boolean
  /** The work was rolled back for the sake of others, and can be done again. */
  isRolledBack(error: unknown): boolean
  /** The server takes no writes on this connection, and has done nothing; another connection may lead to one that does. */
  isReadOnly(error: unknown): boolean
}

/** How work is done on a connection of a store, with the attempts and within the time of any other. */
export type Use<Connection> = <Result>(work: (connection: Connection) => Promise<Result>) => Promise<Result>

/**
 * Does the work on a connection of the pool. Repeats it within its time where the server has certainly not done it.
 * @throws StoreUnavailable for what Faults calls so; the reason of the signal; else what the work throws.
 */
export async function attempt<Connection, Result>(
  pool: ConnectionPool<Connection>,
  faults: Faults,
  work: (connection: Connection) => Promise<Result>,
  { time = DEADLINE, ...options }: UseOptions = {},
): Promise<Result> {
  const end = Date.now() + time
  let isRenewed = false
  for (let attempts = 1; ; attempts++) {
    try {
      return await pool.use(work, { ...options, time: end - Date.now() })
    } catch (error) {
      if (error instanceof StoreUnavailable || options.signal?.aborted) throw error
      if (faults.isRolledBack(error) && attempts < ATTEMPTS) continue
      if (faults.isReadOnly(error) && !isRenewed) {
        // The server's role has changed since this connection was made, and perhaps since the others were.
        pool.renew()
        isRenewed = true
        continue
      }
      if (faults.isUnavailable(error)) throw new StoreUnavailable(describeError(error), { cause: error })
      throw error
    }
  }
}
