import type { Results, Session } from '../results.ts'
import { spread } from '../statistics.ts'
import { type Workload, WRITERS } from '../workloads.ts'
import { casesOf, cpuOf, p99Of, rateOf, ratioOf, runsOf } from './figures.ts'
import { number, ratio } from './format.ts'
import { caseOf, connections, type Headline, type Line, list, nearest, PEERS, some } from './headline.ts'
import { postgresHeadlines } from './postgres-headlines.ts'

const SERVICE = 'service-sqlite'

/** Those on the same runtime. */
const ON_NODE = PEERS.filter(({ runtime }) => runtime === 'Node.js')

/** Those for which enough was measured. */
export function headlines(results: Results): Headline[] {
  const get = caseOf(results, 'get')
  const cpuBeside = (other: string) => get && ratioOf(results, SERVICE, other, get, cpuOf)
  const all: readonly Line[] = [
    [
      'GET one book on SQLite, CPU per request: this service ÷ Fastify alone without a token check',
      '≤ 1.1',
      some(cpuBeside('fastify-no-auth')),
    ],
    ['… ÷ node:http answering fixed bytes', '≤ 1.6', some(cpuBeside('floor'))],
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
    ...postgresHeadlines(results),
    ['GET one book, requests per second: of 1,000 books ÷ of the most', '≤ 1.2', growth(results)],
    ...[100, 10_000].flatMap((books): Line[] => {
      const wanted = caseOf(results, 'list', books)
      const cpu = wanted && ratioOf(results, SERVICE, 'elysia-bun', wanted, cpuOf)
      return [
        [
          `List of ${number(books)} on SQLite, books per second: this service ÷ the fastest other on Node.js`,
          '≥ 1',
          list(results, SERVICE, ON_NODE, books),
        ],
        ['… CPU per request: this service ÷ Elysia on Bun', '≤ 1.2', some(cpu)],
      ]
    }),
    ['… peak memory: the smallest other on Node.js ÷ this service', '≥ 1', listMemory(results)],
    ...threads(results),
    ...startAndMemory(results),
  ]
  return all.flatMap(([what, aim, figure]) => (figure === undefined ? [] : [[what, aim, figure] as const]))
}

/** What a second thread brings. */
function threads(results: Results): Line[] {
  const rates = (workload: Workload) => {
    const wanted = caseOf(results, workload)
    return wanted && some(ratioOf(results, `${SERVICE}-2`, SERVICE, wanted, rateOf))
  }
  return [
    ['GET one book on SQLite, requests per second: two threads ÷ one', '≥ 1.3', rates('get')],
    ['List of 10,000 on SQLite, lists per second: two threads ÷ one', '≥ 1.7', rates('list')],
    ['Durable POST on SQLite, requests per second: two threads ÷ one', '', rates('post')],
    [
      `GET one book on SQLite with ${CORES} cores, requests per second: an estimate`,
      '',
      moreCores(results, 'get'),
    ],
    [
      `Durable POST on SQLite with ${CORES} cores, requests per second: an estimate`,
      '',
      moreCores(results, 'post'),
    ],
  ]
}

/** Of the machine that is estimated. */
const CORES = 16

/** What more cores and threads would do, if only the writer thread were in the way, which does the writes of all. */
function moreCores(results: Results, workload: Workload): string | undefined {
  const wanted = caseOf(results, workload)
  const runs = wanted === undefined ? [] : runsOf(results, `${SERVICE}-2`, wanted)
  const rate = spread(
    runs.map(({ cpu, answers }) => Math.min((CORES * answers) / cpu.server, answers / cpu.writer)),
  )
  const parallel = spread(runs.map(({ cpu }) => 1 - cpu.writer / cpu.server))
  return rate && parallel && `${ratio(rate)}; ${Math.round(100 * parallel.median)} % of the work is parallel`
}

/** Beside the contender that comes nearest. */
function durable(results: Results, workload: Workload): string | undefined {
  const wanted = caseOf(results, workload)
  const others = PEERS.filter(({ durable }) => durable)
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
  const others = PEERS.filter(({ durable }) => durable)
  return wanted && nearest(others, (id) => ratioOf(results, id, SERVICE, wanted, p99Of))
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

function growth(results: Results): string | undefined {
  const cases = casesOf(results)
    .filter((one) => one.purpose === 'growth' && one.workload === 'get' && one.connections === 64)
    .toSorted((a, b) => a.books - b.books)
  const [small, large] = [cases[0], cases.at(-1)]
  if (small === undefined || large === undefined || small === large) return undefined
  const [few] = runsOf(results, SERVICE, small)
  const [many] = runsOf(results, SERVICE, large)
  if (few === undefined || many === undefined) return undefined
  const [rate, cpu] = [rateOf(few) / rateOf(many), cpuOf(many) / cpuOf(few)]
  return `${number(rate)}, of ${number(large.books)}; ${number(cpu)} times the CPU per request`
}

function startAndMemory({ sessions }: Results): Line[] {
  const of = (id: string, figure: (session: Session) => number) =>
    spread(
      sessions
        .filter(({ contender, purpose }) => contender === id && purpose === 'requests')
        .map((session) => figure(session)),
    )
  const idle = (id: string) => of(id, ({ idleMemory }) => idleMemory / 1e6)
  const [one, two] = [idle(SERVICE), idle(`${SERVICE}-2`)]
  return [
    [
      'Start to the first answer on an existing database of 10,000 books, ms',
      '≤ 300',
      some(of(SERVICE, ({ startUp }) => startUp)),
    ],
    ['Memory a second after the start, MB', '≤ 110', some(one)],
    ['… of two threads − of one', '≤ 25', one && two && number(two.median - one.median)],
  ]
}
