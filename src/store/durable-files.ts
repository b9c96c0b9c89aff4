import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Makes a directory and its parents, which then survive a power cut. Node's recursive mkdir does not ensure this, and
 * never ends where the system answers ENOENT below an existing directory, as in /proc.
 * @throws the error of the system.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another instance that starts at the same time may have been faster.
    if (!existsSync(path)) throw error
  }
  synchronise(dirname(path))
}

/** Flushes a file, or the names in a directory, to the disk. On Windows the system decides when. */
export function synchronise(path: string): void {
  if (process.platform === 'win32') return
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * @returns the path for a new file until it is complete. It is hidden in the same directory. Nobody can guess its name,
 * so nothing is there already.
 */
export function partFileOf(path: string): string {
  return join(dirname(resolve(path)), `.${basename(path)}.${randomUUID()}.part`)
}

/**
 * Gives a complete file its name. It then survives a power cut.
 * @param part from `partFileOf`; it is gone afterwards.
 * @throws the error of the system, or EEXIST if the file exists by now. It is never replaced.
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

/** For file systems without hard links, such as FAT. An empty file takes the name first. */
function renameWithoutReplacing(part: string, path: string): void {
  closeSync(openSync(path, 'wx'))
  try {
    renameSync(part, path)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}
