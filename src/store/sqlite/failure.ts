import { StoreUnavailable, type UnavailableReason } from '../../catalogue/store.ts'
import { isFull, isIoError, unavailableReason } from './connection.ts'
import { describeProblem } from './problem.ts'

/** An error, in a form that can be sent to another thread. */
export interface Failed {
  readonly error: Error
  /** That of the error, and what helps the operator. */
  readonly message: string
  /** Why the database cannot be used now, but perhaps later; undefined for any other error. */
  readonly reason: UnavailableReason | undefined
  /** Whether a commit may have got to the disk, though it failed. Any other error rolls everything back. */
  readonly isIoError: boolean
}

/** @param path of the database file, if it may be the reason. */
export function asFailed(cause: unknown, path?: string): Failed {
  const error = cause instanceof Error ? cause : new Error(String(cause))
  const reason = cause instanceof TemporaryFilesFull ? 'temporary_disk' : unavailableReason(cause)
  const message = path === undefined ? error.message : error.message + describeProblem(cause, path)
  return { error, message, reason, isIoError: isIoError(cause) }
}

/** SQLite's own error does not say which of its files there is no room for. */
class TemporaryFilesFull extends Error {
  override readonly message =
    'there is no room for temporary files; free some, or name another directory in SQLITE_TMPDIR'
}

/** Runs an operation that writes to temporary files only. */
export function inTemporaryFiles<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw isFull(error) ? new TemporaryFilesFull() : error
  }
}

/** @returns the error as a store throws it. */
export function errorOf({ error, message, reason, isIoError }: Failed): Error {
  if (reason === undefined) return error
  return new StoreUnavailable(message, { cause: error, reason, nothingWritten: !isIoError })
}

/** @throws the error of the operation as a store throws it. */
export function attempt<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw errorOf(asFailed(error))
  }
}
