import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

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
