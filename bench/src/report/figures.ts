import { baselineOf, CONTENDERS_TABLE, type Contender } from '../contenders.ts'
import type { Purpose, Results, Run } from '../results.ts'
import { type Spread, spread } from '../statistics.ts'
import type { Workload } from '../workloads.ts'

/** What was measured alike of all contenders. */
export interface Case {
  readonly purpose: Purpose
  readonly books: number
  readonly workload: Workload
  readonly connections: number
}

/** What a contender did in a case, over its rounds. */
export interface Figures {
  readonly contender: Contender
  /** Requests per second. */
  readonly rate: Spread
  /** CPU time per request, in microseconds; of its database server, 0 if it has none. */
  readonly cpu: Spread
  readonly databaseCpu: Spread
  /** Latency in milliseconds. */
  readonly p50: Spread
  readonly p99: Spread
  /** The part of a core that the generator used. */
  readonly generator: Spread
  /** Divided by what this service did in the same round on the same engine. */
  readonly rateRatio: Spread | undefined
  readonly cpuRatio: Spread | undefined
}

export const rateOf = ({ answers, seconds }: Run) => answers / seconds
export const cpuOf = ({ answers, cpu }: Run) => (1e6 * cpu.server) / answers
export const p99Of = ({ p99 }: Run) => p99
export const wholeCpuOf = ({ answers, cpu }: Run) => (1e6 * (cpu.server + cpu.database)) / answers

/** All cases that were measured, in the order in which they were. */
export function casesOf({ runs }: Results): Case[] {
  const cases = new Map(
    runs.map(({ purpose, books, workload, connections }) => {
      const found: Case = { purpose, books, workload, connections }
      return [JSON.stringify(found), found]
    }),
  )
  return [...cases.values()]
}

/** The runs of a contender in a case that count: those without errors. */
export function runsOf({ runs }: Results, contender: string, wanted: Case): Run[] {
  return runs.filter(
    (run) =>
      run.contender === contender &&
      run.failure === undefined &&
      run.purpose === wanted.purpose &&
      run.books === wanted.books &&
      run.workload === wanted.workload &&
      run.connections === wanted.connections,
  )
}

/** What every contender did in a case; those are left out of which no run counts. */
export function figuresOf(results: Results, wanted: Case): Figures[] {
  return CONTENDERS_TABLE.flatMap((contender) => {
    const runs = runsOf(results, contender.id, wanted)
    const of = (figure: (run: Run) => number) => spread(runs.map(figure))
    const [rate, cpu, p50, p99] = [of(rateOf), of(cpuOf), of((run) => run.p50), of(p99Of)]
    const databaseCpu = of(({ cpu, answers }) => (1e6 * cpu.database) / answers)
    const generator = of(({ cpu, seconds }) => cpu.generator / seconds)
    if (!(rate && cpu && p50 && p99 && databaseCpu && generator)) return []
    const ratio = (figure: (run: Run) => number) =>
      ratioOf(results, contender.id, baselineOf(contender), wanted, figure)
    const ratios = { rateRatio: ratio(rateOf), cpuRatio: ratio(cpuOf) }
    return [{ contender, rate, cpu, databaseCpu, p50, p99, generator, ...ratios }]
  })
}

/** A figure of one contender divided by that of another in the same round, in the same case unless told. */
export function ratioOf(
  results: Results,
  one: string,
  other: string,
  wanted: Case,
  figure: (run: Run) => number,
  otherCase: Case = wanted,
): Spread | undefined {
  const others = runsOf(results, other, otherCase)
  return spread(
    runsOf(results, one, wanted).flatMap((run) => {
      const beside = others.find(({ round }) => round === run.round)
      return beside ? [figure(run) / figure(beside)] : []
    }),
  )
}
