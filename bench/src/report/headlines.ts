import { CONTENDERS_TABLE, type Contender } from '../contenders.ts'
import type { Results, Run } from '../results.ts'
import { type Spread, spread } from '../statistics.ts'
import { type Workload, WRITERS } from '../workloads.ts'
import { type Case, casesOf, cpuOf, p99Of, rateOf, ratioOf, runsOf, wholeCpuOf } from './figures.ts'
import { number, ratio } from './format.ts'

/** One of the figures that the service is built for: what it is, what it should be and what it was. */
export type Headline = readonly [what: string, aim: string, figure: string]

const SERVICE = 'service-sqlite'

/** Those on the same runtime that do the work. */
const ON_NODE = CONTENDERS_TABLE.filter(({ runtime, does }) => runtime === 'Node.js' && does !== 'nothing')

/** Those for which enough was measured. */
export function headlines(results: Results): Headline[] {
  const get = caseOf(results, 'get')
  const cpuBeside = (other: string) => get && ratioOf(results, SERVICE, other, get, cpuOf)
  const all: readonly (readonly [string, string, string | undefined])[] = [
    [
      'GET one book on SQLite, CPU per request: this service ÷ Fastify alone without a token check',
      '≤ 1.1',
      some(cpuBeside('fastify-no-auth')),
    ],
    ['… ÷ node:http answering fixed bytes', '≤ 2.0', some(cpuBeside('floor'))],
    ...(['post', 'put', 'delete'] as const).map((workload) => {
      const what = `Durable ${workload.toUpperCase()}, requests per second: this service ÷ the fastest other that is as durable`
      return [what, '≥ 8', durable(results, workload)] as const
    }),
    [
      `GET one book on SQLite, p99 of this service: while ${WRITERS} others create books ÷ while nobody does`,
      '< 3',
      besideWrites(results),
    ],
    ['… p99 while they do: the best other that is as durable ÷ this service', '≥ 1', besideOthers(results)],
    [
      'GET one book on PostgreSQL, requests per second: this service ÷ NestJS with TypeORM',
      '≥ 2',
      postgres(results, rateOf),
    ],
    [
      '… CPU per request, of the service alone: NestJS with TypeORM ÷ this service',
      'or ≥ 2',
      postgres(results, cpuOf, true),
    ],
    ['… with that of the database server', '', postgres(results, wholeCpuOf, true)],
    ['GET one book, requests per second: of 1,000 books ÷ of the most', '≤ 1.2', growth(results)],
    ['List of 10,000, books per second: this service ÷ the fastest other on Node.js', '≥ 1', list(results)],
    ['… peak memory: the smallest other on Node.js ÷ this service', '≥ 1', listMemory(results)],
    ['Start to the first answer on an existing database of 10,000 books, ms', '≤ 500', startUp(results)],
  ]
  return all.flatMap(([what, aim, figure]) => (figure === undefined ? [] : [[what, aim, figure] as const]))
}

/** The case of a workload with 64 connections, or with as many as there were at most. */
function caseOf(results: Results, workload: Workload, books = 10_000): Case | undefined {
  const cases = casesOf(results)
    .filter((one) => one.workload === workload && one.purpose !== 'growth' && one.books === books)
    .toSorted((a, b) => a.connections - b.connections)
  return cases.find(({ connections }) => connections === 64) ?? cases.at(-1)
}

function some(value: Spread | undefined): string | undefined {
  return value && ratio(value)
}

function postgres(results: Results, figure: (run: Run) => number, isInverse = false): string | undefined {
  const wanted = caseOf(results, 'get')
  const ids = ['service-postgres', 'nestjs-postgres'] as const
  const [one, other] = isInverse ? ids.toReversed() : ids
  return wanted && one && other ? some(ratioOf(results, one, other, wanted, figure)) : undefined
}

/** Beside the contender that comes nearest. */
function durable(results: Results, workload: Workload): string | undefined {
  const wanted = caseOf(results, workload)
  const others = CONTENDERS_TABLE.filter(({ durable }) => durable)
  return wanted && nearest(others, (id) => ratioOf(results, SERVICE, id, wanted, rateOf))
}

function besideWrites(results: Results): string | undefined {
  const figures = casesOf(results)
    .filter(({ workload }) => workload === 'busy')
    .flatMap((busy) => {
      const value = ratioOf(results, SERVICE, SERVICE, busy, p99Of, { ...busy, workload: 'get' })
      return value ? [`${ratio(value)} at ${connections(busy)}`] : []
    })
  return figures.length > 0 ? figures.join('; ') : undefined
}

function besideOthers(results: Results): string | undefined {
  const wanted = caseOf(results, 'busy')
  const others = CONTENDERS_TABLE.filter(({ durable }) => durable)
  return wanted && nearest(others, (id) => ratioOf(results, id, SERVICE, wanted, p99Of))
}

function list(results: Results): string | undefined {
  const cases = casesOf(results).filter(({ workload, purpose, books }) => {
    return workload === 'list' && purpose === 'list' && books === 10_000
  })
  const figures = cases.flatMap((wanted) => {
    const figure = nearest(ON_NODE, (id) => ratioOf(results, SERVICE, id, wanted, rateOf))
    return figure ? [`${figure} at ${connections(wanted)}`] : []
  })
  return figures.length > 0 ? figures.join('; ') : undefined
}

function listMemory(results: Results): string | undefined {
  const peak = (id: string) =>
    results.sessions.filter(({ contender, purpose, books }) => {
      return contender === id && purpose === 'list' && books === 10_000
    })
  return nearest(ON_NODE, (id) =>
    spread(
      peak(id).flatMap(({ round, peakMemory }) => {
        const beside = peak(SERVICE).find((session) => session.round === round)
        return beside ? [peakMemory / beside.peakMemory] : []
      }),
    ),
  )
}

function nearest(
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

function growth(results: Results): string | undefined {
  const cases = casesOf(results)
    .filter(({ purpose, workload }) => purpose === 'growth' && workload === 'get')
    .toSorted((a, b) => a.books - b.books)
  const [small, large] = [cases[0], cases.at(-1)]
  if (small === undefined || large === undefined || small === large) return undefined
  const [few] = runsOf(results, SERVICE, small)
  const [many] = runsOf(results, SERVICE, large)
  if (few === undefined || many === undefined) return undefined
  const [rate, cpu] = [rateOf(few) / rateOf(many), cpuOf(many) / cpuOf(few)]
  return `${number(rate)}, of ${number(large.books)}; ${number(cpu)} times the CPU per request`
}

function startUp(results: Results): string | undefined {
  const sessions = results.sessions.filter(
    ({ contender, purpose }) => contender === SERVICE && purpose === 'requests',
  )
  return some(spread(sessions.map(({ startUp }) => startUp)))
}

function connections({ connections }: Case): string {
  return connections === 1 ? '1 connection' : `${connections} connections`
}
