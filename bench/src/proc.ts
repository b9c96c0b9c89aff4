import { readdirSync, readFileSync } from 'node:fs'
import { processTree } from '../../test/support/process-tree.ts'

/** The kernel counts CPU time in ticks of 1/100 s for its users, on every common architecture (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100

/**
 * The CPU time, user and system, that a process and all its descendants have used so far, in seconds: of all their
 * threads, and also of children that have ended.
 */
export function cpuTime(pid: number): number {
  const ticks = processTree(pid).map((member) => statTicks(read(member, 'stat')))
  return sum(ticks) / TICKS_PER_SECOND
}

/** The CPU time that the threads of a process with this name have used so far, in seconds; 0 if there is none. */
export function threadCpuTime(pid: number, name: string): number {
  const ticks = processTree(pid).flatMap((member) =>
    threadsOf(member)
      .filter((thread) => read(member, `${thread}/comm`).trim() === name)
      .map((thread) => statTicks(read(member, `${thread}/stat`))),
  )
  return sum(ticks) / TICKS_PER_SECOND
}

/** Their directories in that of the process. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((id) => `task/${id}`)
  } catch {
    // The process has ended.
    return []
  }
}

/**
 * The memory of a process and its descendants, in bytes.
 * @param which what they have now, or the most that each has had since it was started.
 */
export function memory(pid: number, which: 'VmRSS' | 'VmHWM'): number {
  return sum(processTree(pid).map((member) => statusBytes(read(member, 'status'), which)))
}

/** CPU time in a line of /proc/PID/stat, with that of children that were waited for, in ticks; 0 if it is empty. */
export function statTicks(stat: string): number {
  // The name of the program is in parentheses, and may hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // proc(5) numbers them from 1; `fields` begins with the third. utime, stime, cutime, cstime.
  return sum([14, 15, 16, 17].map((number) => Number(fields[number - 3] ?? 0)))
}

/** A size in /proc/PID/status, in bytes; 0 if it is not there. */
export function statusBytes(status: string, name: string): number {
  const [, kibibytes = 0] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
  return Number(kibibytes) * 1024
}

/** Empty if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
