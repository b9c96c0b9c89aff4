import { CONTENDERS_TABLE, type Contender } from '../contenders.ts'
import type { Results } from '../results.ts'
import type { Spread } from '../statistics.ts'
import type { Workload } from '../workloads.ts'
import { type Case, casesOf, rateOf, ratioOf } from './figures.ts'
import { ratio } from './format.ts'

/** One of the figures that the service is built for: what it is, what it should be and what it was. */
export type Headline = readonly [what: string, aim: string, figure: string]

/** The same, where the figure is undefined if too little was measured for it. */
export type Line = readonly [what: string, aim: string, figure: string | undefined]

/** Those that may be called the best other: they do the work, and check every token. */
export const PEERS = CONTENDERS_TABLE.filter(
  ({ does }) => does === 'everything' || does === 'everything but validation',
)

/** The case of a workload with 64 connections, or with as many as there were at most. */
export function caseOf(results: Results, workload: Workload, books = 10_000): Case | undefined {
  const cases = casesOf(results)
    .filter((one) => one.workload === workload && one.purpose !== 'growth' && one.books === books)
    .toSorted((a, b) => a.connections - b.connections)
  return cases.find(({ connections }) => connections === 64) ?? cases.at(-1)
}

export function some(value: Spread | undefined): string | undefined {
  return value && ratio(value)
}

/** The rate of the list of so many books, beside the fastest of some contenders, for each number of connections. */
export function list(
  results: Results,
  service: string,
  others: readonly Contender[],
  length: number,
): string | undefined {
  const cases = casesOf(results).filter(({ workload, purpose, books }) => {
    return workload === 'list' && purpose === 'list' && books === length
  })
  const figures = cases.flatMap((wanted) => {
    const figure = nearest(others, (id) => ratioOf(results, service, id, wanted, rateOf))
    return figure ? [`${figure} at ${connections(wanted)}`] : []
  })
  return figures.length > 0 ? figures.join('; ') : undefined
}

/** The smallest of the ratios to some contenders, and the contender. */
export function nearest(
  others: readonly Contender[],
  ratioTo: (id: string) => Spread | undefined,
): string | undefined {
  const [first] = others
    .filter(({ id }) => !id.startsWith('service-'))
    .flatMap(({ id, title }) => {
      const value = ratioTo(id)
      return value ? [{ title, value }] : []
    })
    .toSorted((a, b) => a.value.median - b.value.median)
  return first && `${ratio(first.value)}, ${first.title}`
}

export function connections({ connections }: Case): string {
  return connections === 1 ? '1 connection' : `${connections} connections`
}
