import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import type { Job, Load } from './job.ts'

const GENERATOR = resolve(import.meta.dirname, 'generator.ts')

/** How long the generator may take for a job beyond what it may need at most, in seconds. */
const GRACE = 90

/**
 * Runs a job in a process of its own.
 * @throws Error if that ends without an answer or takes too long.
 */
export function generate(job: Job): Promise<Load> {
  const child = fork(GENERATOR, { timeout: (job.warmUp + 10 * job.seconds + GRACE) * 1000 })
  return new Promise((resolve, reject) => {
    child.once('message', (load: Load) => resolve(load))
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`the generator ended with ${signal ?? code}`)))
    child.send(job)
  })
}
