import type { TopLevelSpec } from 'vega-lite'
import { CONTENDERS_TABLE } from '../contenders.ts'
import type { Results } from '../results.ts'
import { spread } from '../statistics.ts'
import { casesOf, figuresOf } from './figures.ts'
import { growth } from './growth-plot.ts'
import { barLayers, CONFIG, labels, type Plot } from './plot-style.ts'

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

function listMemory(results: Results): Plot | undefined {
  const values = CONTENDERS_TABLE.flatMap((contender) => {
    const sessions = results.sessions.filter((session) => {
      return session.contender === contender.id && session.purpose === 'list' && session.books === 10_000
    })
    const peak = spread(sessions.map(({ peakMemory }) => peakMemory / 1e6))
    return peak ? [{ ...labels(contender), ...peak }] : []
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
