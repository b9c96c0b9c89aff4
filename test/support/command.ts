import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { INHERITED, PATIENT } from './service.ts'

export const MAIN = resolve(import.meta.dirname, '../../src/main.ts')

/** What a command said, and how it ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** What a command says on standard error, without the lines that name its stores. */
export function withoutStores(stderr: string): string {
  return stderr.replaceAll(/^(?:DB_URL|--from|--to): using .*\n/gm, '')
}

/** Runs a command of the command line in a directory, with exactly these settings. */
export async function runCommand(
  cwd: string,
  settings: Record<string, string>,
  ...args: string[]
): Promise<Ended> {
  const options = { cwd, env: { ...INHERITED, STORE_TIMEOUT: PATIENT, ...settings }, maxBuffer: 2 ** 28 }
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [MAIN, ...args], options)) }
  } catch (error) {
    return error as Ended
  }
}
