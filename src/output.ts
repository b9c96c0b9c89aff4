import { writeSync } from 'node:fs'

const STANDARD_OUTPUT = 1

/** What is left of a text of which a full pipe has taken a part. */
let rest: Uint8Array = new Uint8Array()

/**
 * Where log lines go, and what is said to a person. What cannot be written, as when a disk is full or nobody reads,
 * is lost, for there is no other place to say so; but a line that was begun is finished before the next. pino's own
 * stream would try again for ever, and block the process.
 */
export const output = {
  write(text: string): void {
    if (rest.length > 0) rest = unwritten(rest)
    if (rest.length > 0) return
    const bytes = Buffer.from(text)
    const left = unwritten(bytes)
    if (left.length < bytes.length) rest = left
  },
}

/** Writes what can be written now. @returns the others. */
function unwritten(bytes: Uint8Array): Uint8Array {
  try {
    return bytes.subarray(writeSync(STANDARD_OUTPUT, bytes))
  } catch {
    return bytes
  }
}
