import type { Case } from '../src/report/figures.ts'
import type { Results, Run } from '../src/results.ts'

export const CASE: Case = { purpose: 'requests', books: 10_000, workload: 'get', connections: 64 }

/** In seconds. */
export const cpu = (server: number, database = 0, writer = 0): Run['cpu'] => ({
  server,
  writer,
  database,
  generator: 0.4,
})

/** A run of two seconds. */
export function run(contender: string, round: number, answers: number, changes: Partial<Run> = {}): Run {
  const load = { seconds: 2, p50: 1, p99: 2, max: 3, errors: {}, allAnswers: answers }
  return { contender, round, ...CASE, ...load, answers, cpu: cpu(1, 0.5), ...changes }
}

export function results(...runs: Run[]): Results {
  const machine = { cpu: '', cores: 2, memory: 0, system: '', fileSystem: '', syncTime: 0, load: 0 }
  return {
    machine,
    version: '',
    command: '',
    begun: '',
    duration: 0,
    versions: {},
    runs,
    sessions: [],
    failed: [],
  }
}
