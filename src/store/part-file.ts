import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { synchronise } from './durable-files.ts'

/**
 * @returns where a new file is written until it is complete: beside it, hidden, and under a name that nobody can guess,
 * so that nothing is there already.
 */
export function partFileOf(path: string): string {
  return join(dirname(resolve(path)), `.${basename(path)}.${randomUUID()}.part`)
}

/**
 * Gives a complete file its name; after that it survives a power cut.
 * @param part as `partFileOf` tells it; it is gone afterwards.
 * @throws the error of the system, EEXIST for a file that has come meanwhile: that is never replaced.
 */
export function giveName(part: string, path: string): void {
  synchronise(part)
  try {
    linkSync(part, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    renameWithoutReplacing(part, path)
  }
  rmSync(part, { force: true })
  synchronise(dirname(resolve(path)))
}

/** Where a file cannot have two names, as on FAT: an empty one takes the name first. */
function renameWithoutReplacing(part: string, path: string): void {
  closeSync(openSync(path, 'wx'))
  try {
    renameSync(part, path)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}
