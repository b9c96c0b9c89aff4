import { createWriteStream, existsSync, rmSync } from 'node:fs'
import { finished, pipeline } from 'node:stream/promises'
import { OperatorError } from '../errors.ts'
import { giveName, partFileOf } from '../store/durable-files.ts'

/**
 * Writes a new file for this user alone, which gets its name only when it is complete and on the disk.
 * @param path must not exist yet; `-` is standard output, whose errors end the writing, and are reported by main.ts.
 * @throws OperatorError if the file cannot be written, or what `parts` throws. Then nothing is left behind.
 */
export async function writeNewFile(
  path: string,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  if (path === '-') {
    return await pipeline(parts, process.stdout, { end: false }).catch((error) => {
      if (!isSystemError(error)) throw error
    })
  }
  if (existsSync(path)) throw new OperatorError(`${path} exists already; name another file`)
  const part = partFileOf(path)
  const stream = createWriteStream(part, { flags: 'wx', mode: 0o600 })
  try {
    await pipeline(parts, stream)
    giveName(part, path)
  } catch (error) {
    throw isSystemError(error)
      ? new OperatorError(`${path} cannot be written: ${error.message}`, { cause: error })
      : error
  } finally {
    // Otherwise the stream could create the file after its removal.
    await finished(stream).catch(() => {})
    // Without the test, a place where no file can be would be an error here, which would hide the one before.
    if (existsSync(part)) rmSync(part, { force: true })
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
