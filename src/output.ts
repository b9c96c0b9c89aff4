import { writeSync } from 'node:fs'

const STANDARD_OUTPUT = 1

/**
 * Where log lines go, and what is said to a person. What cannot be written, as when a disk is full, is lost, for
 * there is no other place to say so. pino's own stream would try again for ever, and block the process.
 */
export const output = {
  write(text: string): void {
    try {
      writeSync(STANDARD_OUTPUT, text)
    } catch {}
  },
}
