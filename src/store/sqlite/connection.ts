import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { LRUCache } from 'lru-cache'
import type { UnavailableReason } from '../../catalogue/store.ts'

/** How long to wait for a lock that another process holds, in milliseconds. */
const BUSY_TIMEOUT = 2000

/** How long to wait before trying again where SQLite itself does not wait, in milliseconds. */
const RETRY_INTERVAL = 5

/** Primary result codes for a failure around the database rather than a defect (sqlite.org/rescode.html). */
const RESULT = {
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  NOLFS: 22,
}

const REASONS = new Map<number, UnavailableReason>([
  [RESULT.PERM, 'read_only'],
  [RESULT.BUSY, 'conflict'],
  [RESULT.LOCKED, 'conflict'],
  [RESULT.NOMEM, 'other'],
  [RESULT.READONLY, 'read_only'],
  [RESULT.IOERR, 'disk'],
  [RESULT.FULL, 'disk'],
  [RESULT.CANTOPEN, 'other'],
  [RESULT.PROTOCOL, 'conflict'],
  [RESULT.NOLFS, 'disk'],
])

/** Opens the file, creating an empty one if there is none. One that cannot be written is opened for reading. */
export function openConnection(path: string): DatabaseSync {
  // Absolute, because SQLite takes a name that begins with `file:` for a URI.
  const file = resolve(path)
  try {
    return openAndRead(file)
  } catch (error) {
    // A reader needs the log and the memory of a writer, and cannot make them where it may not write. Without a log there
    // is neither a writer nor anything to read beside the file.
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

/** SQLite opens most of a database only when it is read. */
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

/** From now on a commit is on the disk before it is acknowledged, and readers never wait for a writer. */
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

/** Whether another process holds the lock of the file. */
export function isLocked(error: unknown): boolean {
  return resultCode(error) === RESULT.BUSY
}

/** Why the database cannot be used now, but perhaps later; undefined for any other error. */
export function unavailableReason(error: unknown): UnavailableReason | undefined {
  return REASONS.get(resultCode(error) ?? 0)
}

/** Whether the system does not allow what SQLite needs. */
export function isDenied(error: unknown): boolean {
  return [RESULT.READONLY, RESULT.CANTOPEN].includes(resultCode(error) ?? 0)
}

/** Whether the file could not be read or written. */
export function isIoError(error: unknown): boolean {
  return resultCode(error) === RESULT.IOERR
}

/** Whether there was no room for what had to be written. */
export function isFull(error: unknown): boolean {
  return resultCode(error) === RESULT.FULL
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  // The low byte of an extended result code is the primary one.
  return error.errcode & 0xff
}

/** Statements that are kept: several times as many as usual queries have. */
const KEPT = 100

/** What prepares statements. */
export type Statements = Pick<DatabaseSync, 'prepare'>

/** Keeps the statements of a connection. To prepare them anew for each query would be a third of its cost. */
export class KeptStatements implements Statements {
  readonly #database: DatabaseSync
  readonly #kept = new LRUCache<string, StatementSync>({ max: KEPT })
  /** The last one that was prepared. */
  #last = ''

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  prepare(sql: string): StatementSync {
    this.#last = sql
    let statement = this.#kept.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#kept.set(sql, statement)
    }
    return statement
  }

  /**
   * Prepares the last statement anew the next time. Call it when it has failed: in node:sqlite, a statement that fails
   * while it is iterated over fails the next time, too.
   */
  forgetLast(): void {
    this.#kept.delete(this.#last)
  }
}
