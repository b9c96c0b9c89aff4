import { readFileSync } from 'node:fs'

/** What the main thread of a process has had of the processors so far, in milliseconds. */
export interface CpuTime {
  readonly ran: number
  /** How long it had work, while all processors were busy with others. */
  readonly waited: number
}

/** @returns undefined where the system does not tell, or when the process has ended. */
export function cpuTime(pid: number): CpuTime | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/schedstat`, 'utf8')
  } catch {
    return undefined
  }
  const [ran = 0, waited = 0] = text.split(' ').map((nanoseconds) => Number(nanoseconds) / 1e6)
  return { ran, waited }
}

/** A service that takes as long again as its deadline has to be noticed, however busy the machine is; milliseconds. */
const MAX_EXCUSED = 2500

/**
 * Begins to measure how long a process keeps this one waiting.
 * @param pid undefined to excuse nothing.
 * @returns a function that tells the time since, in milliseconds, without that in which other programs kept either of
 * the two from a processor. It excuses no more than MAX_EXCUSED.
 */
export function stopwatch(pid: number | undefined): () => number {
  const pids = pid === undefined ? [] : [process.pid, pid]
  const waited = (of: number) => cpuTime(of)?.waited ?? 0
  const before = new Map(pids.map((each) => [each, waited(each)]))
  const begin = performance.now()
  return () => {
    const time = performance.now() - begin
    const waits = [...before].map(([each, earlier]) => Math.max(0, waited(each) - earlier))
    const excused = waits.reduce((sum, each) => sum + each, 0)
    // The two may have waited at the same time.
    return Math.max(0, Math.round(time - Math.min(excused, MAX_EXCUSED)))
  }
}
