import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import type { Job, Load } from './job.ts'
import { DRAIN_TIME, LONGEST } from './measurement.ts'

const GENERATOR = resolve(import.meta.dirname, 'generator.ts')

/** How long the generator may take at most beside the times of a job, in seconds. */
const GRACE = LONGEST + DRAIN_TIME + 10

/**
 * Runs a job in a process of its own.
 * @throws Error if that ends without an answer or takes too long.
 */
export function generate(job: Job): Promise<Load> {
  const child = fork(GENERATOR, { timeout: (job.warmUp + job.seconds + GRACE) * 1000 })
  return new Promise((resolve, reject) => {
    child.once('message', (load: Load) => resolve(load))
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`the generator ended with ${signal ?? code}`)))
    child.send(job)
  })
}
