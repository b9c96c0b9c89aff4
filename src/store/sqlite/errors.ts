import { accessSync, constants, existsSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreUnavailable, type UnavailableReason } from '../../catalogue/store.ts'

interface Meaning {
  readonly name: string
  readonly reason: UnavailableReason
  /** What to say about it beside SQLite's message. */
  readonly problem?: 'access' | 'locks' | 'full'
}

/** Primary result codes for a failure of the environment rather than a defect (sqlite.org/rescode.html). */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  3: { name: 'PERM', reason: 'read_only', problem: 'access' },
  5: { name: 'BUSY', reason: 'conflict' },
  6: { name: 'LOCKED', reason: 'conflict' },
  7: { name: 'NOMEM', reason: 'other' },
  8: { name: 'READONLY', reason: 'read_only', problem: 'access' },
  10: { name: 'IOERR', reason: 'disk' },
  13: { name: 'FULL', reason: 'disk' },
  14: { name: 'CANTOPEN', reason: 'other', problem: 'access' },
  15: { name: 'PROTOCOL', reason: 'conflict', problem: 'locks' },
  22: { name: 'NOLFS', reason: 'disk', problem: 'locks' },
}

/** Of IOERR: _UNLOCK, _RDLOCK, _BLOCKED, _CHECKRESERVEDLOCK, _LOCK, _SHMOPEN, _SHMLOCK and _SHMMAP; _SHMSIZE. */
const IOERR_OF_LOCKS = [8, 9, 11, 14, 15, 18, 20, 21]
const IOERR_SHMSIZE = 19

function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof Error && 'errcode' in error && typeof error.errcode === 'number')) return undefined
  // The low byte of an extended result code is the primary one.
  const [primary, extension] = [error.errcode & 0xff, error.errcode >> 8]
  const meaning = MEANINGS[primary]
  if (meaning?.name !== 'IOERR') return meaning
  if (extension === IOERR_SHMSIZE) return { ...meaning, problem: 'full' }
  return IOERR_OF_LOCKS.includes(extension) ? { ...meaning, problem: 'locks' } : meaning
}

export const isLocked = (error: unknown) => meaningOf(error)?.name === 'BUSY'

/** Whether there is no room on the disk. */
export const isFull = (error: unknown) => meaningOf(error)?.name === 'FULL'

/** Whether SQLite lacks a permission that it needs. */
export const isDenied = (error: unknown) => meaningOf(error)?.problem === 'access'

/** @returns what SQLite's message leaves out, to be appended to it. @param path of the database file. */
export function describeProblem(error: unknown, path: string): string {
  switch (meaningOf(error)?.problem) {
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
  const target = danglingTarget(path)
  const link = target === undefined ? [] : [`${path} (a link to ${target}, which does not exist)`]
  const files = [path, `${path}-wal`, `${path}-shm`].flatMap((file) => describeFile(file) ?? [])
  const all = [...link, ...files, describeFile(nearestDirectory(target ?? path))].join(', ')
  return `${all}; this process runs as ${process.geteuid?.()}:${process.getegid?.()}`
}

/** @returns why a file cannot be created; undefined if it can. */
export function whyNotCreatable(path: string): string | undefined {
  const target = danglingTarget(resolve(path))
  const directory = nearestDirectory(target ?? resolve(path))
  // Only the directory of the link would be made: that of its target may be a disk that is not mounted.
  const isThere = target === undefined || directory === dirname(target)
  return isThere && statSync(directory).isDirectory() && describeDenial(directory) === ''
    ? undefined
    : describeAccess(path)
}

/** Where a link leads, if nothing is there. */
function danglingTarget(path: string): string | undefined {
  try {
    return existsSync(path) ? undefined : resolve(dirname(path), readlinkSync(path))
  } catch {
    return undefined
  }
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

/** @param operation writes to temporary files only. SQLite's own error does not say for which of its files there is no room. */
export function inTemporaryFiles<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    if (!isFull(error)) throw error
    const advice = 'free some, or name another directory in SQLITE_TMPDIR'
    const message = `there is no room for temporary files; ${advice}`
    throw new StoreUnavailable(message, { reason: 'temporary_disk', nothingWritten: true })
  }
}

/**
 * @returns StoreUnavailable for an error that may pass; any other error unchanged.
 * @param path of the database file, if it may be the reason.
 */
export function storeError(error: unknown, path?: string): unknown {
  const { reason, name } = meaningOf(error) ?? {}
  if (reason === undefined || !(error instanceof Error)) return error
  const message = path === undefined ? error.message : error.message + describeProblem(error, path)
  // After an I/O error, a failed commit may be on the disk all the same. Any other error rolls everything back.
  return new StoreUnavailable(message, { cause: error, reason, nothingWritten: name !== 'IOERR' })
}
