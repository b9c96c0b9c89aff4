import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { isFull, isIoError, unavailableReason } from './connection.ts'

type Problem = 'access' | 'locks' | 'full'

/** Primary and extended result codes (sqlite.org/rescode.html). */
const PROBLEMS: readonly [Problem, readonly number[]][] = [
  // PERM, READONLY, CANTOPEN.
  ['access', [3, 8, 14]],
  // PROTOCOL, NOLFS, and IOERR_UNLOCK, _RDLOCK, _BLOCKED, _CHECKRESERVEDLOCK, _LOCK, _SHMOPEN, _SHMLOCK, _SHMMAP.
  ['locks', [15, 22, ...[8, 9, 11, 14, 15, 18, 20, 21].map((kind) => 10 | (kind << 8))]],
  // IOERR_SHMSIZE.
  ['full', [10 | (19 << 8)]],
]

/** @returns what SQLite's message leaves out, to be appended to it. @param path of the database file. */
export function describeProblem(error: unknown, path: string): string {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : Number.NaN
  switch (PROBLEMS.find(([, codes]) => codes.includes(code) || codes.includes(code & 0xff))?.[0]) {
    case undefined:
      return ''
    case 'access':
      return `; ${describeAccess(path)}${lacksSharedMemory(path) ? `; to read it, copy it with its -wal to a directory that you may write` : ''}`
    case 'locks':
      return `; the file system of ${resolve(path)} probably has no locks or no shared memory, as NFS, SMB and FUSE: put the file on a local disk (docs/configuration.md)`
    case 'full':
      return `; the disk of ${resolve(path)} is probably full`
  }
}

/** Whether there is a log, but no shared memory (-shm), which a reader would have to create. */
const lacksSharedMemory = (path: string) => existsSync(`${path}-wal`) && !existsSync(`${path}-shm`)

/** The owners and modes of the files and of the nearest existing directory, and the user of this process. */
export function describeAccess(database: string): string {
  const path = resolve(database)
  const files = [path, `${path}-wal`, `${path}-shm`].flatMap((file) => describeFile(file) ?? [])
  const all = [...files, describeFile(nearestDirectory(path))].join(', ')
  return `${all}; this process runs as ${process.geteuid?.()}:${process.getegid?.()}`
}

/** @returns why a file cannot be created; undefined if it can. */
export function whyNotCreatable(path: string): string | undefined {
  const directory = nearestDirectory(resolve(path))
  return statSync(directory).isDirectory() && describeDenial(directory) === ''
    ? undefined
    : describeAccess(path)
}

/** The directory of a file, or the nearest one above it that exists and is visible. */
function nearestDirectory(path: string): string {
  const directory = dirname(path)
  return describeFile(directory) !== undefined || directory === path ? directory : nearestDirectory(directory)
}

/** @returns undefined if the file does not exist or is not visible. */
function describeFile(path: string): string | undefined {
  try {
    const { uid, gid, mode } = statSync(path)
    return `${path} (owner ${uid}:${gid}, mode ${(mode & 0o7777).toString(8)}${describeDenial(path)})`
  } catch {
    return undefined
  }
}

function describeDenial(path: string): string {
  try {
    accessSync(path, constants.W_OK)
    return ''
  } catch (error) {
    return `, not writable: ${(error as NodeJS.ErrnoException).code}`
  }
}

/** SQLite's own error does not say for which of its files there is no room. */
class TemporaryFilesFull extends Error {
  override readonly message =
    'there is no room for temporary files; free some, or name another directory in SQLITE_TMPDIR'
}

/** @param operation writes to temporary files only, so a full disk is theirs. */
export function inTemporaryFiles<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw isFull(error) ? new TemporaryFilesFull() : error
  }
}

/**
 * @returns StoreUnavailable for an error that may pass; any other error unchanged.
 * @param path of the database file, if it may be the reason.
 */
export function storeError(error: unknown, path?: string): unknown {
  const reason = error instanceof TemporaryFilesFull ? 'temporary_disk' : unavailableReason(error)
  if (reason === undefined || !(error instanceof Error)) return error
  const message = path === undefined ? error.message : error.message + describeProblem(error, path)
  // After an I/O error, a failed commit may be on the disk all the same. Any other error rolls everything back.
  return new StoreUnavailable(message, { cause: error, reason, nothingWritten: !isIoError(error) })
}

/** @throws the error of the operation, converted by `storeError`. */
export function attempt<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    throw storeError(error)
  }
}
