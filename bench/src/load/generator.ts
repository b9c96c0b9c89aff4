// The load generator, in a process of its own: takes one job from the process that forked it, and answers the load.
import type { Job } from './job.ts'
import { measure } from './measurement.ts'

// Not without whoever waits for it.
process.once('disconnect', () => process.exit())

process.once('message', async (job: Job) => {
  const load = await measure(job)
  process.send?.(load, () => process.disconnect?.())
})
