import { once } from 'node:events'
import { createWriteStream, existsSync, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { OperatorError } from '../errors.ts'
import { giveName, partFileOf } from '../store/durable-files.ts'

/**
 * Writes a new file, which gets its name only when it is complete and on the disk.
 * @param path must not exist yet; `-` is standard output.
 * @throws OperatorError if the file cannot be written, or what `parts` throws. Then nothing is left behind.
 */
export async function writeNewFile(path: string, parts: AsyncIterable<string>): Promise<void> {
  if (path === '-') return await writeAll(process.stdout, parts)
  if (existsSync(path)) throw new OperatorError(`${path} exists already; name another file`)
  const part = partFileOf(path)
  const stream = createWriteStream(part, { flags: 'wx' })
  try {
    await writeAll(stream, parts)
    stream.end()
    await finished(stream)
    giveName(part, path)
  } catch (error) {
    throw asOperatorError(path, error)
  } finally {
    stream.destroy()
    // Otherwise the stream could create the file after its removal.
    await finished(stream).catch(() => {})
    rmSync(part, { force: true })
  }
}

async function writeAll(stream: NodeJS.WritableStream, parts: AsyncIterable<string>): Promise<void> {
  const failed = Promise.withResolvers<never>()
  // The listener is never removed: a late error, such as that of a pipe whose reader has gone, must not end the process
  // with a stack trace.
  failed.promise.catch(() => {})
  stream.on('error', (error) => failed.reject(asOperatorError('the output', error)))
  for await (const text of parts) {
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), failed.promise])
  }
}

function asOperatorError(path: string, error: unknown): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error
  return isSystemError
    ? new OperatorError(`${path} cannot be written: ${error.message}`, { cause: error })
    : error
}
