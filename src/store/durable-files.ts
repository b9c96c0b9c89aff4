import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Creates a directory and its missing parents so that they survive a power cut. Node's recursive mkdir does not flush
 * them, and never returns where the system reports ENOENT below an existing directory, as in /proc.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another instance may have created it meanwhile.
    if (!existsSync(path)) throw error
  }
  synchronise(dirname(path))
}

/** Flushes a file, or the entries of a directory, to the disk. On Windows, the system decides when that is done. */
function synchronise(path: string): void {
  if (process.platform === 'win32') return
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** UTF-16 code units of a name, each up to 3 bytes in UTF-8, that leave room for more in the 255 bytes of a name. */
const MAX_BEGINNING = 64

/** @returns a hidden path in the same directory. Nobody can guess it and put a symbolic link there first. */
export function partFileOf(path: string): string {
  const beginning = basename(path).slice(0, MAX_BEGINNING)
  return join(dirname(resolve(path)), `.${beginning}.${randomUUID()}.part`)
}

/**
 * Gives a complete file its final name so that it survives a power cut. Never replaces a file.
 * @throws the system error; EEXIST if there is a file of that name by now.
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

/**
 * Puts a complete file in the place of another one. A power cut leaves either of them.
 * @param kept the new name of the other one.
 */
export function replaceFile(part: string, path: string, kept: string): void {
  synchronise(part)
  try {
    linkSync(path, kept)
  } catch {
    // A file system without hard links, such as FAT.
    copyFileSync(path, kept, constants.COPYFILE_EXCL)
    synchronise(kept)
  }
  renameSync(part, path)
  synchronise(dirname(path))
}

/** For file systems without hard links, such as FAT. An empty file reserves the name. */
function renameWithoutReplacing(part: string, path: string): void {
  closeSync(openSync(path, 'wx'))
  try {
    renameSync(part, path)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}
