import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often the service checks whether it is idle, in milliseconds. */
const INTERVAL = 10_000

/** From this share of the time in which the event loop has work, it is not idle. */
const IDLE = 0.05

/** By how many bytes the memory of an idle service may have grown. */
const SLACK = 32 * 1024 * 1024

/** After so many collections, there is no more garbage until the service has been busy or has grown again. */
const ENOUGH = 2

let collect: ((...options: { readonly type: 'minor' }[]) => void) | undefined

/**
 * Runs a garbage collection. V8 alone lets some 70 MiB of long texts and bytes become garbage first. Ordinary books do
 * not need it.
 * @param options none for a full collection, which takes some ten milliseconds. A minor one, for what has just become
 * garbage, takes one. (With `undefined`, V8 would not collect everything.)
 */
export function collectGarbage(...options: { readonly type: 'minor' }[]): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    // Other runtimes than Node.js have no such function.
    collect = runInNewContext('globalThis.gc ?? (() => {})') as () => void
  }
  collect(...options)
}

/**
 * Returns memory to the system after a burst of requests. An idle process would keep its garbage forever.
 * @returns the timer of the checks, which does not keep the process running.
 */
export function collectGarbageWhenIdle(): NodeJS.Timeout {
  const check = idleCheck(process.memoryUsage.rss, () => collectGarbage())
  let earlier = performance.eventLoopUtilization()
  const measure = () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, earlier)
    earlier = now
    check(utilization < IDLE)
  }
  return setInterval(measure, INTERVAL).unref()
}

/**
 * @param memoryOf returns the memory of the process, in bytes.
 * @returns a function that collects garbage if it would help. Call it at every interval.
 */
export function idleCheck(memoryOf: () => number, collect: () => void): (isIdle: boolean) => void {
  /** The least memory that the process has ever had, and the least since the last collection, in bytes. */
  let least = memoryOf()
  let collected = least
  let collections = 0
  return (isIdle) => {
    const memory = memoryOf()
    least = Math.min(least, memory)
    collected = Math.min(collected, memory)
    if (!isIdle || memory > collected + SLACK) collections = 0
    if (isIdle && memory > least + SLACK && collections < ENOUGH) {
      collect()
      collections++
      collected = memoryOf()
    }
  }
}
