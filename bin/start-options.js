// What is said to Node.js when the service or a command is started, for less memory: docs/operations.md.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

export const VARIABLES = {
  // Whoever can write there can change the code anyway.
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node-compile-cache'),
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
}

/**
 * @param {string} [command] of the command line; the service if there is none.
 * @returns {string[]}
 */
export function nodeFlags(command = 'serve') {
  // A command that moves many books makes many young objects; fewer at once are less memory, and time enough.
  const youngMemory = ['import', 'export', 'copy'].includes(command) ? 4 : 8
  return [`--max-semi-space-size=${youngMemory}`]
}
