import { existsSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { LRUCache } from 'lru-cache'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { isDenied, isLocked } from './errors.ts'

/** Milliseconds to wait for a lock that another connection holds. */
const BUSY_TIMEOUT = 2000

/** Milliseconds between attempts where SQLite itself does not wait. */
const RETRY_INTERVAL = 5

/**
 * Opens the file. One that cannot be written is opened for reading.
 * @param mode `rwc` creates an empty file if there is none.
 */
export function openConnection(path: string, mode: 'rw' | 'rwc' = 'rwc'): DatabaseSync {
  try {
    return openAndRead(path, `mode=${mode}`)
  } catch (error) {
    // A reader needs the -wal and -shm files, and cannot create them where it may not write. If there is no -wal file,
    // there is no writer, and the database file is complete. It can then be read without locks, as immutable.
    if (!isDenied(error) || !existsSync(path) || existsSync(`${path}-wal`)) throw error
    try {
      return openAndRead(path, 'mode=ro&immutable=1')
    } catch {
      throw error
    }
  }
}

/** Reads at once, because SQLite opens most of a database only when it is first read. */
function openAndRead(path: string, options: string): DatabaseSync {
  const { host, pathname } = pathToFileURL(path)
  // SQLite takes a host, which a path of Windows may have, only as a part of the path.
  const url = `file://${host && `//${host}`}${pathname}?${options}`
  const database = new DatabaseSync(url, { timeout: BUSY_TIMEOUT })
  try {
    database.prepare('SELECT 1 FROM sqlite_schema').get()
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** The file that a path leads to, for `requireFile`; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/**
 * Without this check, what is written to a file that was deleted or replaced would be lost with its last connection.
 * @param opened what `identityOf` said when the file was opened.
 * @throws StoreUnavailable if the path leads elsewhere by now.
 */
export function requireFile(path: string, opened: string | undefined): void {
  if (identityOf(path) === opened) return
  const problem = `${path} was deleted, moved or replaced while the service was running, so nothing more is written`
  throw new StoreUnavailable(`${problem}; put the file back, or restart the service`, {
    nothingWritten: true,
  })
}

/** As `openConnection`, for a file that another thread has opened. @throws StoreUnavailable as `requireFile` does. */
export function openAgain(path: string, opened: string | undefined): DatabaseSync {
  requireFile(path, opened)
  return openConnection(path, 'rw')
}

/** From then on, a commit is on the disk before it is acknowledged, and readers never wait for a writer. */
export function makeDurable(database: DatabaseSync): void {
  const deadline = Date.now() + BUSY_TIMEOUT
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      // On macOS, only this flushes the cache of the drive. It has no effect elsewhere.
      database.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
      return
    } catch (error) {
      // SQLite does not wait for another process that changes the journal mode of a new file at the same time.
      if (!isLocked(error) || Date.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_INTERVAL)
    }
  }
}

/** The maximum number of kept statements: several times as many as the usual queries have. */
const MAX_STATEMENTS = 100

/**
 * Reads one row after another. Where node:sqlite throws for a row, the statement would go on running, and keep its
 * connection at an old state of the file, in which nothing can be written.
 */
export function* rowsOf(
  statement: StatementSync,
  ...values: readonly SQLInputValue[]
): Generator<Record<string, SQLOutputValue>, void> {
  const rows = statement.iterate(...values)
  try {
    yield* rows
  } finally {
    rows.return?.()
  }
}

export type Statements = Pick<DatabaseSync, 'prepare'>

/** Keeps the prepared statements of a connection. Preparing them for each query would be a third of its cost. */
export function statementCache(database: DatabaseSync): Statements & { clear(): void } {
  const kept = new LRUCache<string, StatementSync>({
    max: MAX_STATEMENTS,
    memoMethod: (sql) => database.prepare(sql),
  })
  return { prepare: (sql) => kept.memo(sql), clear: () => kept.clear() }
}
