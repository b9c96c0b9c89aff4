import { parseArgs } from 'node:util'

/**
 * Reads `--cycles N` from the command line. Prints the usage and ends the process when asked to, or when it cannot
 * be read.
 */
export function readCycles(usage: string, defaultCycles: number): number {
  try {
    const { values } = parseArgs({ options: { cycles: { type: 'string' }, help: { type: 'boolean' } } })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    const cycles = Number(values.cycles ?? defaultCycles)
    if (!Number.isSafeInteger(cycles) || cycles < 1)
      throw new Error(`--cycles ${values.cycles} is no number above 0`)
    return cycles
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`)
    process.exit(1)
  }
}
