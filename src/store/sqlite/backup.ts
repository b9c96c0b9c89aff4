import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { describeError, OperatorError } from '../../errors.ts'
import { giveName, makeDirectory, partFileOf, replaceFile } from '../durable-files.ts'
import { openConnection } from './connection.ts'
import { describeProblem, isFull } from './errors.ts'
import { schemaVersion } from './schema.ts'
import { lockForService } from './service-lock.ts'

/** Database pages copied between two reports of progress. */
const PAGES_PER_STEP = 1000

const PERMISSIONS = 0o777
const OWNER_ONLY = 0o600

type Progress = (copied: number, total: number) => void

/**
 * Copies a database file that may be in use. The copy is a snapshot with every write that was acknowledged before the
 * call. It gets its name only when it is complete, checked and on the disk. It has the permissions of the source.
 * @param target must not exist yet.
 * @param signal stops the copying, and removes the incomplete copy.
 * @throws OperatorError
 */
export async function backupSqlite(
  source: string,
  target: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const directory = dirname(resolve(target))
  if (!existsSync(source)) throw new OperatorError(`there is no database ${source}`)
  if (!existsSync(directory)) throw new OperatorError(`there is no directory ${directory}`)
  if (existsSync(target)) throw new OperatorError(`${target} exists already; name another file`)
  await inPartFile(source, target, async (part) => {
    await copy(source, part, progress, signal)
    // Not before: SQLite could not write a file that may only be read.
    chmodSync(part, statSync(source).mode & PERMISSIONS)
    giveName(part, target)
  })
}

export interface Restored {
  readonly books: number
  /** The path of the database that was replaced; undefined if there was none. */
  readonly kept: string | undefined
}

/**
 * Replaces a database that no process uses by a copy of a backup, which stays as it is. The copy is complete, checked
 * and on the disk before it takes the place of the database, whose owner and permissions it gets.
 * @param signal stops the copying, and leaves the database as it is.
 * @throws OperatorError
 */
export async function restoreSqlite(
  source: string,
  target: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Restored> {
  if (!existsSync(source)) throw new OperatorError(`there is no file ${source}`)
  makeDirectory(dirname(resolve(target)))
  const lock = lockForService(target)
  try {
    if (lock.isTaken) throw new OperatorError(`a service is running on ${resolve(target)}; stop it first`)
    // SQLite names its other files after the file that a symbolic link leads to.
    const path = existsSync(target) ? realpathSync(target) : resolve(target)
    if (realpathSync(source) === path) throw new OperatorError(`${source} is the database itself`)
    if (existsSync(path) && !statSync(path).isFile())
      throw new OperatorError(`${path} is a directory or a device, not a file that can be replaced`)
    requireClosed(path)
    return await inPartFile(source, path, async (part) => {
      const books = await copy(source, part, progress, signal)
      takeOwner(part, path)
      requireClosed(path)
      const kept = existsSync(path)
        ? `${path}.replaced-${new Date().toISOString().replace(/\W/g, '')}`
        : undefined
      if (kept === undefined) giveName(part, path)
      else replaceFile(part, path, kept)
      return { books, kept }
    })
  } finally {
    lock.release()
  }
}

/** Makes an empty file beside the target for `fill`. It is removed in the end unless it got another name. */
async function inPartFile<Result>(
  source: string,
  target: string,
  fill: (part: string) => Promise<Result>,
): Promise<Result> {
  const part = partFileOf(target)
  try {
    // Created here, because SQLite would follow a symbolic link.
    closeSync(openSync(part, 'wx', OWNER_ONLY))
    return await fill(part)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const { syscall, path: failed } = error as NodeJS.ErrnoException
    const path = isFull(error) || (syscall !== undefined && failed !== source) ? target : source
    throw new OperatorError(`${path}: ${describeError(error)}${describeProblem(error, path)}`, {
      cause: error,
    })
  } finally {
    // Not where no file can be: that error would hide the one before.
    const files = ['', '-wal', '-shm', '-journal'].map((suffix) => part + suffix)
    for (const file of files.filter((each) => existsSync(each))) rmSync(file, { force: true })
  }
}

/** SQLite would apply such a file to the restored database, and damage it. It may also hold acknowledged writes. */
function requireClosed(path: string): void {
  const open = ['-wal', '-journal'].map((suffix) => path + suffix).find((file) => existsSync(file))
  if (open === undefined) return
  throw new OperatorError(
    `there is ${open}: a program is using ${path}, or was killed while it did. If none is running, ` +
      'book-catalogue check takes these writes into the database; if it cannot, move both files to another directory',
  )
}

function takeOwner(part: string, path: string): void {
  const isSuperuser = process.geteuid?.() === 0
  const model = existsSync(path) ? path : isSuperuser ? dirname(path) : part
  const { uid, gid, mode } = statSync(model)
  try {
    chownSync(part, uid, gid)
  } catch (error) {
    const message = `${model} belongs to ${uid}:${gid}; run this command as the user of the service`
    throw new OperatorError(`${message}: ${(error as Error).message}`, { cause: error })
  }
  if (model === path) chmodSync(part, mode & PERMISSIONS)
}

/** @returns how many books the copy has, which is checked. */
async function copy(source: string, part: string, progress: Progress, signal: AbortSignal): Promise<number> {
  using database = openConnection(source)
  // A read transaction fixes the snapshot. Without it, every write of another connection would restart the copy.
  database.exec('PRAGMA query_only = ON; BEGIN')
  database.prepare('SELECT 1 FROM sqlite_schema').get()
  await backup(database, part, {
    rate: PAGES_PER_STEP,
    progress: ({ totalPages, remainingPages }) => {
      signal.throwIfAborted()
      progress(totalPages - remainingPages, totalPages)
    },
  })
  const books = countBooks(part)
  // During the check, no signal could arrive. The first turn ends without looking for one.
  await setImmediate()
  await setImmediate()
  signal.throwIfAborted()
  return books
}

/** @throws unless the file is a sound catalogue that this release can read or update. */
function countBooks(path: string): number {
  using database = openConnection(path)
  if (schemaVersion(database) === 0) throw new Error('the file is empty, no catalogue of books')
  const result = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
  if (result !== 'ok') throw new Error(`the copy fails its integrity check: ${result}`)
  return Number(database.prepare('SELECT count(*) AS books FROM books').get()?.books)
}
