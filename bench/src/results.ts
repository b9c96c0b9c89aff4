import type { Load } from './load/job.ts'
import type { Machine } from './machine.ts'
import type { Workload } from './workloads.ts'

/** What one measurement gave. */
export interface Run extends Load {
  readonly contender: string
  readonly round: number
  readonly purpose: Purpose
  /** Books in the catalogue when the process was started. */
  readonly books: number
  readonly workload: Workload
  readonly connections: number
  /** Why there is nothing to report of it. */
  readonly failure?: string
}

/** What one process of a contender gave, from its start to its end. Sizes in bytes. */
export interface Session {
  readonly contender: string
  readonly round: number
  readonly books: number
  readonly purpose: Purpose
  /** From its start on an existing database to its first answer, in milliseconds. */
  readonly startUp: number
  /** Resident memory a second after that. */
  readonly idleMemory: number
  /** The most that it has had. */
  readonly peakMemory: number
}

/** What a process is started for: everything but lists, lists, or the comparison of catalogues of several sizes. */
export type Purpose = 'requests' | 'list' | 'growth'

/** A contender that could not run, or whose answers were wrong. */
export interface Failed {
  readonly contender: string
  readonly round: number
  readonly books: number
  readonly purpose: Purpose
  readonly reason: string
}

/** All that a bench has found out; `results.json`. */
export interface Results {
  readonly machine: Machine
  /** Of this service, with the commit if it is a clone. */
  readonly version: string
  readonly command: string
  /** ISO 8601. */
  readonly begun: string
  /** How long it took, in seconds. */
  duration: number
  /** Versions by contender. */
  readonly versions: Readonly<Record<string, string>>
  readonly runs: Run[]
  readonly sessions: Session[]
  readonly failed: Failed[]
}
