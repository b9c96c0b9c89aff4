import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import type { FailureOutcome } from './errors.ts'

/** How often work is tried that the server rolls back because of a conflict. */
export const ATTEMPTS = 5

/** How often a read is repeated whose connection was lost: it may be the cause. */
const LOST_ATTEMPTS = 3

/**
 * The longest time before work is tried again for the first time, in milliseconds. It doubles with each further time,
 * and is random, because others try again too.
 */
const PAUSE = 50

/** The longest time before work is tried again, in milliseconds. */
const LONGEST_PAUSE = 400

/** The least time in which work is tried again, in milliseconds. */
const LEAST_TIME = 100

/** When work that failed may be done again. */
export interface Retry {
  /** What became of the work; undefined if it did not begin, because there was no connection. */
  outcomeOf(error: unknown): FailureOutcome | undefined
  readonly isWrite: boolean
  /** Whether the work itself may be done again, and not only connecting. */
  readonly isRepeatable: boolean
  /** How often work is tried that the server rolls back because of a conflict. */
  readonly attempts: number
  /** False while the store is being opened: then the operator is told at once what fails, except of conflicts. */
  readonly isOpened: boolean
  /** When the time of all attempts is over, as `Date.now()`. */
  readonly end: number
  readonly signal: AbortSignal | undefined
  isClosed(): boolean
}

/**
 * Does work again where the server has certainly not done it, and reads also after their connection was lost.
 * @param attempt does the work. @param cause why the attempt before failed.
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
        // After its deadline by the clock of the server, which was set since if there is time left.
        return outcome === 'moved' || outcome === 'late'
      }
      const pause = Math.min(PAUSE * 2 ** (number - 1), LONGEST_PAUSE) * Math.random()
      // With too little time, it would not be known of the next attempt what became of it.
      if (!isToRepeat() || Date.now() + pause + LEAST_TIME >= end) throw error
      await timers.setTimeout(pause)
      if (isClosed()) throw error
      cause = error
    }
  }
}
