import { StoreUnavailable } from '../../catalogue/store.ts'
import { isFull, isIoError, unavailableReason } from './connection.ts'
import { describeProblem } from './problem.ts'

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

/**
 * The error as a store throws it.
 * @param error of node:sqlite, or any other.
 * @param path of the database file, if it may be the reason.
 */
export function storeError(error: unknown, path?: string): unknown {
  const reason = error instanceof TemporaryFilesFull ? 'temporary_disk' : unavailableReason(error)
  if (reason === undefined || !(error instanceof Error)) return error
  const message = path === undefined ? error.message : error.message + describeProblem(error, path)
  // A commit may have got to the disk, though it failed. Any other error rolls everything back.
  return new StoreUnavailable(message, { cause: error, reason, nothingWritten: !isIoError(error) })
}

/** @throws the error of the operation as a store throws it. */
export function attempt<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw storeError(error)
  }
}
