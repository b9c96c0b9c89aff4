import { StoreUnavailable } from '../../catalogue/store.ts'
import { isUnavailable } from './connection.ts'

/** An error, in a form that can be sent to another thread. */
export interface Failed {
  readonly error: Error
  /** Whether the database cannot be used now, but perhaps later. */
  readonly unavailable: boolean
}

export function asFailed(cause: unknown): Failed {
  const error = cause instanceof Error ? cause : new Error(String(cause))
  return { error, unavailable: isUnavailable(cause) }
}

/** @returns the error as a store throws it. */
export function errorOf({ error, unavailable }: Failed): Error {
  return unavailable ? new StoreUnavailable(error.message, { cause: error }) : error
}

/** @throws the error of the operation as a store throws it. */
export function attempt<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw errorOf(asFailed(error))
  }
}
