import type { TopLevelSpec } from 'vega-lite'
import type { Results } from '../results.ts'
import { casesOf, figuresOf } from './figures.ts'
import { CONFIG, KINDS, labels, type Plot } from './plot-style.ts'

/** GET one, by the size of the catalogue. */
export function growth(results: Results): Plot | undefined {
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
    config: { ...CONFIG, legend: { ...CONFIG.legend, orient: 'right' } },
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
