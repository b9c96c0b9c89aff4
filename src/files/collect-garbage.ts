import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often the service looks whether it is idle, in milliseconds. */
const INTERVAL = 10_000

/** The share of the time in which an idle event loop may have work. */
const IDLE = 0.1

/** By how many bytes the memory of an idle service may have grown. */
const SLACK = 32 * 1024 * 1024

let collect: (() => void) | undefined

/**
 * Runs a full garbage collection, which takes some ten milliseconds. V8 alone lets some 70 MiB of long texts become old
 * first. Ordinary books do not need it.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}

/** Gives memory back after a crowd has gone. An idle process would keep its garbage for ever. */
export function collectGarbageWhenIdle(): void {
  let earlier = performance.eventLoopUtilization()
  let least = process.memoryUsage.rss()
  let collections = 0
  const look = () => {
    const { utilization } = performance.eventLoopUtilization(earlier)
    earlier = performance.eventLoopUtilization()
    const memory = process.memoryUsage.rss()
    const hasGrown = memory > least + SLACK
    // What two collections leave is not garbage.
    if (!hasGrown || collections === 2) {
      least = hasGrown ? memory : Math.min(least, memory)
      collections = 0
    } else if (utilization < IDLE) {
      collectGarbage()
      collections++
    }
  }
  setInterval(look, INTERVAL).unref()
}
