import type { TopLevelSpec } from 'vega-lite'
import { CONTENDERS_TABLE } from '../contenders.ts'
import type { Results } from '../results.ts'
import { casesOf, figuresOf } from './figures.ts'
import { barLayers, CONFIG, KINDS, labels } from './plot-style.ts'

export interface Plot {
  readonly file: string
  readonly title: string
  readonly spec: TopLevelSpec
}

/** Those for which there are figures. */
export function plots(results: Results): Plot[] {
  return [rates(results), cpu(results), growth(results), listMemory(results)].filter(
    (plot) => plot !== undefined,
  )
}

const PANELS = [
  ['get', 'GET one'],
  ['mix', '90 % GET, 10 % writes'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['delete', 'DELETE'],
  ['login', 'Log in'],
] as const

/** Requests per second of the workloads, at 64 connections or what was measured. */
function rates(results: Results): Plot | undefined {
  const connections = usualConnections(results)
  const values = PANELS.flatMap(([workload, panel]) => {
    const wanted = casesOf(results).find(
      (one) => one.purpose === 'requests' && one.workload === workload && one.connections === connections,
    )
    if (wanted === undefined) return []
    return (
      figuresOf(results, wanted)
        // Beside bytes that nothing had to be done for, no other bar of writes could be read.
        .filter(({ contender }) => contender.store !== 'none' || workload === 'get')
        .map(({ contender, rate }) => ({ panel, ...labels(contender), ...rate }))
    )
  })
  if (values.length === 0) return undefined
  const title = `Requests per second, ${connections} connections`
  const spec: TopLevelSpec = {
    config: CONFIG,
    title: { text: title, subtitle: 'Longer is better. Lines: minimum and maximum over the rounds.' },
    data: { values },
    facet: { field: 'panel', type: 'nominal', sort: PANELS.map(([, panel]) => panel) },
    columns: 2,
    spacing: { row: 24, column: 40 },
    resolve: { scale: { x: 'independent', y: 'independent' } },
    spec: { width: 300, height: { step: 17 }, ...barLayers('median', 'requests per second') },
  }
  return { file: 'requests.svg', title, spec }
}

/** CPU time of GET one. */
function cpu(results: Results): Plot | undefined {
  const connections = usualConnections(results)
  const wanted = casesOf(results).find(
    (one) => one.purpose === 'requests' && one.workload === 'get' && one.connections === connections,
  )
  if (wanted === undefined) return undefined
  const values = figuresOf(results, wanted).map(({ contender, cpu, databaseCpu }) => {
    const { median: database } = databaseCpu
    return { ...labels(contender), ...shifted(cpu, database) }
  })
  const title = 'CPU time to read one book'
  const spec: TopLevelSpec = {
    config: CONFIG,
    title: {
      text: title,
      subtitle: 'Microseconds per request, with those of the database server. Shorter is better.',
    },
    data: { values },
    width: 420,
    height: { step: 20 },
    ...barLayers('median', 'µs', 'ascending'),
  }
  return { file: 'cpu.svg', title, spec }
}

function growth(results: Results): Plot | undefined {
  const values = casesOf(results)
    .filter(({ purpose, workload }) => purpose === 'growth' && workload === 'get')
    .flatMap((wanted) =>
      figuresOf(results, wanted).map(({ contender, rate }) => ({
        ...labels(contender),
        books: wanted.books,
        rate: rate.median,
      })),
    )
  if (values.length === 0) return undefined
  const title = 'Reading one book, by the size of the catalogue'
  const spec: TopLevelSpec = {
    config: { ...CONFIG, legend: { orient: 'right', title: null, labelLimit: 320 } },
    title: { text: title, subtitle: 'Requests per second, 64 connections.' },
    data: { values },
    width: 420,
    height: 300,
    mark: { type: 'line', point: { size: 45 }, strokeWidth: 2 },
    encoding: {
      x: {
        field: 'books',
        type: 'quantitative',
        scale: { type: 'log' },
        axis: {
          title: 'books',
          format: '~s',
          grid: false,
          values: [...new Set(values.map(({ books }) => books))],
        },
      },
      y: {
        field: 'rate',
        type: 'quantitative',
        scale: { type: 'log' },
        axis: { title: 'requests per second', grid: true, gridColor: '#eee' },
      },
      color: { field: 'name', type: 'nominal', sort: null, scale: { scheme: 'tableau20' } },
      strokeDash: {
        field: 'kind',
        type: 'nominal',
        scale: {
          domain: Object.keys(KINDS),
          range: [
            [1, 0],
            [6, 3],
            [2, 3],
            [1, 0],
          ],
        },
        legend: null,
      },
    },
  }
  return { file: 'growth.svg', title, spec }
}

function listMemory(results: Results): Plot | undefined {
  const values = CONTENDERS_TABLE.flatMap((contender) => {
    const sessions = results.sessions.filter((session) => {
      return session.contender === contender.id && session.purpose === 'list' && session.books === 10_000
    })
    const peaks = sessions.map(({ peakMemory }) => peakMemory / 1e6).toSorted((a, b) => a - b)
    const [median, min, max] = [peaks[Math.floor(peaks.length / 2)], peaks[0], peaks.at(-1)]
    return median && min && max ? [{ ...labels(contender), median, min, max }] : []
  })
  if (values.length === 0) return undefined
  const title = 'Peak memory while lists of 10,000 books are read'
  const spec: TopLevelSpec = {
    config: CONFIG,
    title: { text: title, subtitle: 'Megabytes, without the database server. Shorter is better.' },
    data: { values },
    width: 420,
    height: { step: 20 },
    ...barLayers('median', 'MB', 'ascending'),
  }
  return { file: 'memory.svg', title, spec }
}

function shifted({ median, min, max }: { median: number; min: number; max: number }, by: number) {
  return { median: median + by, min: min + by, max: max + by }
}

function usualConnections(results: Results): number | undefined {
  const all = casesOf(results)
    .filter(({ purpose }) => purpose === 'requests')
    .map(({ connections }) => connections)
  return all.includes(64) ? 64 : all.at(-1)
}
