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

/**
 * The processor time that all threads of a process have had so far, in milliseconds; the time since this process began
 * where the system does not tell. How much of it passes while a client waits does not depend on what else the machine does.
 */
export function processTime(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return 10 * (Number(fields[11]) + Number(fields[12]))
  } catch {
    return performance.now()
  }
}

/** A service that takes as long again as its deadline has to be noticed, however busy the machine is; milliseconds. */
const MAX_EXCUSED = 2500

/** A process that waits wakes so often, in milliseconds, and by so much later on a machine that stood still. */
const [WAKING, STALL] = [100, 500]

let stalled = 0
let woke = performance.now()
setInterval(stoodStill, WAKING).unref()

/** How long the machine stood still so far, as long as this module is loaded; milliseconds. */
export function stoodStill(): number {
  const late = performance.now() - woke - WAKING
  if (late > STALL) stalled += late
  woke = performance.now()
  return stalled
}

/**
 * Begins to measure how long a process keeps this one waiting.
 * @param pid undefined to excuse nothing but that the machine stood still.
 * @returns a function that tells the time since, in milliseconds, without that in which the machine stood still, or
 * other programs kept either of the two from a processor. It excuses no more than MAX_EXCUSED of the latter.
 */
export function stopwatch(pid: number | undefined): () => number {
  const pids = pid === undefined ? [] : [process.pid, pid]
  const waited = (of: number) => cpuTime(of)?.waited ?? 0
  const before = new Map(pids.map((each) => [each, waited(each)]))
  const [begin, still] = [performance.now(), stoodStill()]
  return () => {
    const time = performance.now() - begin - (stoodStill() - still)
    const waits = [...before].map(([each, earlier]) => Math.max(0, waited(each) - earlier))
    const excused = waits.reduce((sum, each) => sum + each, 0)
    // The two may have waited at the same time.
    return Math.max(0, Math.round(time - Math.min(excused, MAX_EXCUSED)))
  }
}
