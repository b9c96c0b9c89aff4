import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { LRUCache } from 'lru-cache'
import { isDenied, isLocked } from './errors.ts'

/** Milliseconds to wait for a lock that another connection holds. */
const BUSY_TIMEOUT = 2000

/** Milliseconds between attempts where SQLite itself does not wait. */
const RETRY_INTERVAL = 5

/** Opens the file, or creates an empty one. A file that cannot be written is opened for reading. */
export function openConnection(path: string): DatabaseSync {
  // Absolute, because SQLite takes a name that begins with `file:` for a URI.
  const file = resolve(path)
  try {
    return openAndRead(file)
  } catch (error) {
    // A reader needs the -wal and -shm files, and cannot create them where it may not write. If there is no -wal file,
    // there is no writer, and the database file is complete. It can then be read without locks, as immutable.
    if (!isDenied(error) || !existsSync(file) || existsSync(`${file}-wal`)) throw error
    const url = pathToFileURL(file)
    url.search = 'immutable=1'
    try {
      return openAndRead(url)
    } catch {
      throw error
    }
  }
}

/** Reads at once, because SQLite opens most of a database only when it is first read. */
function openAndRead(file: string | URL): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT, readOnly: file instanceof URL })
  try {
    database.prepare('SELECT 1 FROM sqlite_schema').get()
    return database
  } catch (error) {
    database.close()
    throw error
  }
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

export type Statements = Pick<DatabaseSync, 'prepare'>

/** Keeps the prepared statements of a connection. Preparing them for each query would be a third of its cost. */
export function statementCache(database: DatabaseSync): Statements & { clear(): void } {
  const kept = new LRUCache<string, StatementSync>({
    max: MAX_STATEMENTS,
    memoMethod: (sql) => database.prepare(sql),
  })
  return { prepare: (sql) => kept.memo(sql), clear: () => kept.clear() }
}
