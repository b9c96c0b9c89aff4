import { chmodSync, closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { backup } from 'node:sqlite'
import { giveName, partFileOf } from '../durable-files.ts'
import { openConnection } from './connection.ts'
import { describeProblem } from './errors.ts'

/** Database pages copied between two reports of progress. */
const PAGES_PER_STEP = 1000

const PERMISSIONS = 0o777

/** The message is for the operator: one complete line. */
export class BackupFailed extends Error {
  override readonly name = 'BackupFailed'
}

/**
 * Copies a database file that may be in use. The copy is a snapshot with every write that was acknowledged before the
 * call. It gets its name only when it is complete, checked and on the disk. It has the permissions of the source.
 * @param target must not exist yet.
 * @param signal stops the copying, and removes the incomplete copy.
 * @throws BackupFailed
 */
export async function backupSqlite(
  source: string,
  target: string,
  progress: (copied: number, total: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const directory = dirname(resolve(target))
  if (!existsSync(source)) throw new BackupFailed(`there is no database ${source}`)
  if (!existsSync(directory)) throw new BackupFailed(`there is no directory ${directory}`)
  if (existsSync(target)) throw new BackupFailed(`${target} exists already; name another file`)
  const part = partFileOf(target)
  try {
    // Created here, because SQLite would follow a symbolic link.
    closeSync(openSync(part, 'wx'))
    chmodSync(part, statSync(source).mode & PERMISSIONS)
    await copy(source, part, progress, signal)
    check(part)
    giveName(part, target)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new BackupFailed(message + describeProblem(error, source), { cause: error })
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(part + suffix, { force: true })
  }
}

async function copy(
  source: string,
  part: string,
  progress: (copied: number, total: number) => void,
  signal: AbortSignal,
): Promise<void> {
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
}

function check(path: string): void {
  using database = openConnection(path)
  const result = database.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
  if (result !== 'ok') throw new Error(`the copy fails its integrity check: ${result}`)
}
