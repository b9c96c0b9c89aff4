import { CONTENDERS_TABLE } from '../contenders.ts'
import type { Results, Session } from '../results.ts'
import { type Spread, spread } from '../statistics.ts'
import { WORKLOAD_TITLES, type Workload } from '../workloads.ts'
import { type Case, casesOf, type Figures, figuresOf } from './figures.ts'
import { megabytes, number, ratio, table } from './format.ts'

/** From this part of a core on the generator may be what limits a rate. */
const GENERATOR_LIMIT = 0.9

/** A heading and a table for each case of what `purpose` names, requests or lists. */
export function loadTables(results: Results, purpose: 'requests' | 'list'): string {
  const cases = casesOf(results).filter((one) => one.purpose === purpose)
  return cases
    .map((one) => `### ${title(one)}\n\n${loadTable(figuresOf(results, one), one.workload)}`)
    .join('\n\n')
}

function title({ purpose, workload, books, connections }: Case): string {
  const what = purpose === 'list' ? `GET all of ${number(books)} books` : WORKLOAD_TITLES[workload]
  return `${what}, ${connections === 1 ? '1 connection' : `${connections} connections`}`
}

function loadTable(figures: readonly Figures[], workload: Workload): string {
  const hasServers = figures.some(({ databaseCpu }) => databaseCpu.median > 0)
  // That of requests beside those that are counted cannot be told apart.
  const hasCpu = workload !== 'busy'
  const cpuHead = hasCpu ? ['CPU µs', '÷ this', ...(hasServers ? ['server CPU µs'] : [])] : []
  const rows = figures.map((one) => [
    name(one),
    (one.generator.median >= GENERATOR_LIMIT ? '≥ ' : '') + number(one.rate.median),
    ratio(one.rateRatio),
    ...(hasCpu ? [number(one.cpu.median), ratio(one.cpuRatio)] : []),
    ...(hasCpu && hasServers ? [one.databaseCpu.median > 0 ? number(one.databaseCpu.median) : ''] : []),
    number(one.p50.median),
    number(one.p99.median),
    `${Math.round(100 * one.generator.median)} %`,
  ])
  return table(['', 'requests/s', '÷ this', ...cpuHead, 'p50 ms', 'p99 ms', 'generator'], rows, 1)
}

function name({ contender: { id, title, durable, store } }: Figures): string {
  if (id.startsWith('service-')) return `**${title}**`
  return durable || store === 'none' ? title : `${title} *`
}

/** GET one and the list, by the size of the catalogue. */
export function growthTable(results: Results): string {
  const cases = casesOf(results).filter(({ purpose }) => purpose === 'growth')
  const sizes = [...new Set(cases.map(({ books }) => books))].toSorted((a, b) => a - b)
  const figures = new Map(cases.map((one) => [one, figuresOf(results, one)]))
  const cells = (wanted: string, id: string, show: (figures: Figures, books: number) => string) =>
    sizes.map((size) => {
      const one = cases.find(
        ({ books, workload, connections }) => books === size && `${workload} × ${connections}` === wanted,
      )
      const found = one && figures.get(one)?.find(({ contender }) => contender.id === id)
      return found ? show(found, size) : '–'
    })
  const rows = CONTENDERS_TABLE.map(({ id, title }) => [
    title,
    ...cells('get × 64', id, ({ rate }) => number(rate.median)),
    ...cells('list × 1', id, ({ rate }, books) => number(rate.median * books)),
    ...sizes.map((size) => first(results.sessions, id, size, ({ startUp }) => number(startUp))),
    ...sizes.map((size) => first(results.sessions, id, size, ({ peakMemory }) => megabytes(peakMemory))),
  ]).filter((row) => row.slice(1).some((cell) => cell !== '–'))
  const heads = ['GET one/s', 'list books/s', 'start ms', 'peak MB'].flatMap((what) =>
    sizes.map((size) => `${what} of ${number(size)}`),
  )
  return table(['', ...heads], rows, 1)
}

function first(
  sessions: readonly Session[],
  id: string,
  size: number,
  show: (session: Session) => string,
): string {
  const found = sessions.find(({ contender, purpose, books }) => {
    return contender === id && purpose === 'growth' && books === size
  })
  return found ? show(found) : '–'
}

/** Start and memory. */
export function processTable(results: Results): string {
  const figure = (id: string, isOf: (session: Session) => boolean, read: (session: Session) => number) =>
    spread(results.sessions.filter((session) => session.contender === id && isOf(session)).map(read))
  const isRequests = ({ purpose }: Session) => purpose === 'requests'
  const isList = ({ purpose, books }: Session) => purpose === 'list' && books === 10_000
  const show = (value: Spread | undefined, unit = 1) => (value ? number(value.median / unit) : '–')
  const rows = CONTENDERS_TABLE.map(({ id, title }) => [
    title,
    show(figure(id, isRequests, ({ startUp }) => startUp)),
    show(
      figure(id, isRequests, ({ idleMemory }) => idleMemory),
      1e6,
    ),
    show(
      figure(id, isRequests, ({ peakMemory }) => peakMemory),
      1e6,
    ),
    show(
      figure(id, isList, ({ peakMemory }) => peakMemory),
      1e6,
    ),
  ]).filter((row) => row.slice(1).some((cell) => cell !== '–'))
  return table(['', 'start ms', 'idle MB', 'peak MB, requests', 'peak MB, lists of 10,000'], rows, 1)
}

/** What every contender is, with its versions. */
export function contenderTable({ versions }: Results): string {
  const rows = CONTENDERS_TABLE.filter(({ id }) => versions[id] !== undefined).map(
    ({ id, title, durable, store }) => [
      title,
      `\`${id}\``,
      versions[id] ?? '',
      store === 'none' ? 'keeps nothing' : durable ? 'yes' : 'no',
    ],
  )
  return table(['', 'name', 'versions', 'durable'], rows)
}
