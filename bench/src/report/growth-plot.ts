import type { TopLevelSpec } from 'vega-lite'
import type { Results } from '../results.ts'
import { casesOf, figuresOf } from './figures.ts'
import { CONFIG, labels, type Plot } from './plot-style.ts'

const PANELS = { get: 'GET one', put: 'PUT', delete: 'DELETE', post: 'POST' } as const
const isPanel = (workload: string): workload is keyof typeof PANELS => workload in PANELS

/** The requests by the size of the catalogue, a row for each kind and a column for each number of connections. */
export function growth(results: Results): Plot | undefined {
  const values = casesOf(results)
    .filter(({ purpose }) => purpose === 'growth')
    .flatMap((wanted) => {
      const { workload, connections, books } = wanted
      if (!isPanel(workload)) return []
      return figuresOf(results, wanted).map(({ contender, rate }) => ({
        ...labels(contender),
        panel: PANELS[workload],
        clients: connections === 1 ? '1 connection' : `${connections.toLocaleString('en')} connections`,
        books,
        rate: rate.median,
      }))
    })
  if (values.length === 0) return undefined
  const unique = <Value>(all: readonly Value[]) => [...new Set(all)]
  const title = 'Requests per second, by the size of the catalogue'
  const spec: TopLevelSpec = {
    config: { ...CONFIG, legend: { ...CONFIG.legend, orient: 'right' } },
    title: { text: title, subtitle: 'One round. Both axes are logarithmic.' },
    data: { values },
    facet: {
      row: { field: 'panel', type: 'nominal', sort: Object.values(PANELS), title: null },
      column: {
        field: 'clients',
        type: 'nominal',
        sort: unique(values.map(({ clients }) => clients)),
        title: null,
      },
    },
    resolve: { scale: { y: 'independent' } },
    spec: {
      width: 170,
      height: 130,
      mark: { type: 'line', point: { size: 25 }, strokeWidth: 2 },
      encoding: {
        x: {
          field: 'books',
          type: 'quantitative',
          scale: { type: 'log' },
          axis: {
            title: 'books',
            format: '~s',
            grid: false,
            values: unique(values.map(({ books }) => books)),
          },
        },
        y: {
          field: 'rate',
          type: 'quantitative',
          scale: { type: 'log' },
          axis: { title: null, format: '~s', grid: true, gridColor: '#eee', tickCount: 4 },
        },
        color: { field: 'name', type: 'nominal', sort: null, scale: { scheme: 'tableau10' } },
      },
    },
  }
  return { file: 'growth.svg', title, spec }
}
