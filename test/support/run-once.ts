import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ServerDirectory } from './server-directory.ts'

/** How long a command may take, in milliseconds. */
const PATIENCE = 60_000

/**
 * Runs a command as the owner of the directory, and in it.
 * @returns what it wrote to standard output.
 * @throws Error with all that it wrote, if it fails or takes too long.
 */
export async function runOnce(
  directory: ServerDirectory,
  file: string,
  args: readonly string[],
): Promise<string> {
  try {
    const options = { cwd: directory.path, timeout: PATIENCE, ...directory.owner }
    return (await promisify(execFile)(file, args, options)).stdout
  } catch (error) {
    const {
      code,
      stdout = '',
      stderr = '',
    } = error as NodeJS.ErrnoException & Record<'stdout' | 'stderr', string>
    throw new Error(`${file} failed (${code}):\n${stdout}${stderr}`)
  }
}
