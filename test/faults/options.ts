import { parseArgs } from 'node:util'

/**
 * Reads `--cycles N` from the command line. Prints the usage and ends the process when asked to, or when it cannot
 * be read.
 */
export function readCycles(usage: string, defaultCycles: number): number {
  return readCount(usage, 'cycles', defaultCycles)
}

/** As readCycles, for an option of another name. */
export function readCount(usage: string, name: string, fallback: number): number {
  try {
    const { values } = parseArgs({ options: { [name]: { type: 'string' }, help: { type: 'boolean' } } })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    const count = Number(values[name] ?? fallback)
    if (!Number.isSafeInteger(count) || count < 1)
      throw new Error(`--${name} ${values[name]} is no number above 0`)
    return count
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`)
    process.exit(1)
  }
}
