import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import type { FailureOutcome } from './errors.ts'

/** How often work is tried that the server rolls back because of a conflict. */
export const ATTEMPTS = 5

/** How often a read is repeated after its connection was lost. No more, because the read may be the cause. */
const LOST_ATTEMPTS = 3

/** The longest pause before the first retry, in milliseconds. It doubles each time, and is random: others retry too. */
const PAUSE = 50

/** The longest pause before any retry, in milliseconds. */
const LONGEST_PAUSE = 400

/** The least time for another attempt, in milliseconds. */
const LEAST_TIME = 100

/** When work that failed may be done again. */
export interface Retry {
  /** What became of the work; undefined if it did not begin because there was no connection. */
  outcomeOf(error: unknown): FailureOutcome | undefined
  readonly isWrite: boolean
  /** Whether the work itself may be done again, and not only connecting. */
  readonly isRepeatable: boolean
  /** The most attempts when there are conflicts. */
  readonly attempts: number
  /** False while the store is being opened. Then only conflicts are retried, and other errors are reported at once. */
  readonly isOpened: boolean
  /** The deadline of all attempts, as `Date.now()`. */
  readonly end: number
  readonly signal: AbortSignal | undefined
  isClosed(): boolean
}

/**
 * Repeats work that the server has certainly not done, and a read also after a lost connection.
 * @param attempt does the work. Its argument is why the attempt before failed.
 * @throws what the last attempt throws; the reason of the signal.
 */
export async function withRetries<Result>(
  attempt: (cause: unknown) => Promise<Result>,
  { outcomeOf, isWrite, isRepeatable, attempts, isOpened, end, signal, isClosed }: Retry,
): Promise<Result> {
  let cause: unknown
  let losses = 0
  for (let number = 1; ; number++) {
    try {
      return await attempt(cause)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) throw error
      const outcome = outcomeOf(error)
      if (outcome === 'lost') losses++
      const isToRepeat = () => {
        if (outcome === undefined) return isOpened
        if (!isRepeatable) return false
        if (outcome === 'conflict') return number < attempts
        if (!isOpened) return false
        if (outcome === 'lost') return !isWrite && losses <= LOST_ATTEMPTS
        // `late` with time left: the clock of the server has been set. A new connection compares the clocks again.
        return outcome === 'moved' || outcome === 'late'
      }
      const pause = Math.min(PAUSE * 2 ** (number - 1), LONGEST_PAUSE) * Math.random()
      // With too little time, it would not be known what became of the next attempt.
      if (!isToRepeat() || Date.now() + pause + LEAST_TIME >= end) throw error
      await timers.setTimeout(pause)
      if (isClosed()) throw error
      cause = error
    }
  }
}
