import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { LRUCache } from 'lru-cache'
import type { UnavailableReason } from '../../catalogue/store.ts'

/** Milliseconds to wait for a lock that another connection holds. */
const BUSY_TIMEOUT = 2000

/** Milliseconds between attempts where SQLite itself does not wait. */
const RETRY_INTERVAL = 5

/** Primary result codes for a failure of the environment rather than a defect (sqlite.org/rescode.html). */
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

export function isLocked(error: unknown): boolean {
  return resultCode(error) === RESULT.BUSY
}

/** Why the database cannot be used now, but perhaps later; undefined for any other error. */
export function unavailableReason(error: unknown): UnavailableReason | undefined {
  return REASONS.get(resultCode(error) ?? 0)
}

/** Whether SQLite lacks a permission that it needs. */
export function isDenied(error: unknown): boolean {
  return [RESULT.READONLY, RESULT.CANTOPEN].includes(resultCode(error) ?? 0)
}

export function isIoError(error: unknown): boolean {
  return resultCode(error) === RESULT.IOERR
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === RESULT.FULL
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  // The low byte of an extended result code is the primary one.
  return error.errcode & 0xff
}

/** The maximum number of kept statements: several times as many as the usual queries have. */
const MAX_STATEMENTS = 100

export type Statements = Pick<DatabaseSync, 'prepare'>

/** Keeps the prepared statements of a connection. Preparing them for each query would be a third of its cost. */
export class StatementCache implements Statements {
  readonly #database: DatabaseSync
  readonly #kept = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS })
  /** The SQL of the statement that was requested last. */
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
   * Forgets the statement that was requested last. Call it when that one has failed: in node:sqlite, a statement that
   * fails during iteration fails the next time, too.
   */
  forgetLast(): void {
    this.#kept.delete(this.#last)
  }
}
