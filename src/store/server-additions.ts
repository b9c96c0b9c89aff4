import { setTimeout } from 'node:timers/promises'
import { describeError } from './client-server/network-errors.ts'
import type { ConnectionPool } from './client-server/pool.ts'

/** What the service adds to the table of books, to find books quickly. */
export interface Addition {
  readonly name: string
  readonly sql: string
}

/** Additions that are of use only together. */
export interface AdditionGroup {
  /** What they are for, for messages. */
  readonly purpose: string
  readonly additions: readonly Addition[]
}

/** How an engine makes additions. */
interface Maker<Connection> {
  /** The names of what is there. */
  existing(connection: Connection): Promise<readonly string[]>
  make(connection: Connection, sql: string): Promise<unknown>
  /** Whether others work on the same table at this moment. */
  isLostRace(error: unknown): boolean
}

/** How long all of it may take, for a large table; and how long before the operator is told; milliseconds. */
const MAKING_TIME = 3600_000
const SILENT_TIME = 2000

/**
 * How long to go on when others are at it, and to wait before the next attempt, twice as long each time; milliseconds.
 * Who waits for the lock of the table keeps all from reading it.
 */
const RACING_TIME = 300_000
const INTERVAL = 50
const LONGEST_INTERVAL = 5000

/**
 * Adds what is missing, in steps that are each complete. Safe when many instances start at once. What the server or
 * the account does not allow is done without, and the operator is told.
 * @returns for each group whether all of it is there.
 */
export async function ensureAdditions<Connection>(
  pool: ConnectionPool<Connection>,
  maker: Maker<Connection>,
  groups: readonly AdditionGroup[],
  report: (message: string) => void,
): Promise<boolean[]> {
  const results: boolean[] = []
  const refusals: string[] = []
  for (const { purpose, additions } of groups) {
    try {
      await pool.use((connection) => ensureAll(connection, maker, additions, report), { time: MAKING_TIME })
      results.push(true)
    } catch (error) {
      results.push(false)
      refusals.push(`${purpose} (${describeError(error)})`)
    }
  }
  if (refusals.length > 0)
    report(`these will be slow, because their indexes cannot be made: ${refusals.join('; ')}`)
  return results
}

async function ensureAll<Connection>(
  connection: Connection,
  maker: Maker<Connection>,
  additions: readonly Addition[],
  report: (message: string) => void,
): Promise<void> {
  const end = Date.now() + RACING_TIME
  const notice = globalThis.setTimeout(
    () => report('adding indexes to the table books, during which writes may have to wait'),
    SILENT_TIME,
  )
  try {
    for (let interval = INTERVAL; !(await attemptAll(connection, maker, additions, end)); interval *= 2)
      await setTimeout(Math.random() * Math.min(interval, LONGEST_INTERVAL))
  } finally {
    clearTimeout(notice)
  }
}

/** @returns false when others are at it. */
async function attemptAll<Connection>(
  connection: Connection,
  { existing, make, isLostRace }: Maker<Connection>,
  additions: readonly Addition[],
  end: number,
): Promise<boolean> {
  try {
    const names = await existing(connection)
    for (const { name, sql } of additions) if (!names.includes(name)) await make(connection, sql)
    return true
  } catch (error) {
    if (isLostRace(error) && Date.now() < end) return false
    throw error
  }
}
