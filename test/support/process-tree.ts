import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** The ids of a process and of all that descend from it, the process first. */
export function processTree(pid: number): number[] {
  const all = processes()
  const tree = [pid]
  // The list grows while it is walked, by the children of those that are in it.
  for (const member of tree) tree.push(...all.filter(({ parent }) => parent === member).map(({ pid }) => pid))
  return tree
}

/** Which of these processes run. One that has ended is none, even while nobody has waited for its end. */
export function running(pids: readonly number[]): number[] {
  const alive = new Set(processes().map(({ pid }) => pid))
  return pids.filter((pid) => alive.has(pid))
}

/** Sends a signal to each process that is still there. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function processes(): { pid: number; parent: number }[] {
  // Small images of Linux come without ps.
  const lines =
    process.platform === 'linux'
      ? statusLines()
      : spawnSync('ps', ['-Ao', 'pid=,state=,ppid='], { encoding: 'utf8' }).stdout.split('\n')
  return lines.flatMap((line) => {
    const [, pid, state, parent] = /^ *(\d+) +(\S+) +(\d+)/.exec(line) ?? []
    return state?.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  })
}

function statusLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // The name of the program is in parentheses, and may hold anything.
        return `${pid} ${readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')}`
      } catch {
        return [] // It has ended since.
      }
    })
}
