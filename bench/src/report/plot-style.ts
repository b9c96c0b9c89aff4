import type { TopLevelSpec } from 'vega-lite'
import type { Contender } from '../contenders.ts'

/** An image of the report. */
export interface Plot {
  readonly file: string
  readonly title: string
  readonly spec: TopLevelSpec
}

type Layers = Extract<TopLevelSpec, { layer: unknown }>['layer']

/** What tells contenders apart at a glance, and its colour. */
export const KINDS = {
  'this service': '#1f5fbf',
  'as durable': '#9fb4cc',
  'may lose writes': '#e0b483',
  'keeps nothing': '#cfcfcf',
} as const

type Kind = keyof typeof KINDS

/** Longer names are cut, in pixels. */
const LABEL_LIMIT = 400

/** How all plots look. */
export const CONFIG: NonNullable<TopLevelSpec['config']> = {
  // The image as a whole has a title; the figures are in the tables.
  aria: false,
  background: 'white',
  font: 'system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif',
  view: { stroke: null },
  axis: { domain: false, ticks: false, labelColor: '#333', titleColor: '#555', titleFontWeight: 'normal' },
  axisX: { grid: true, gridColor: '#eee', tickCount: 4 },
  axisY: { grid: false },
  header: { labelFontSize: 13, labelFontWeight: 'bold', labelAnchor: 'start', title: null },
  legend: { orient: 'bottom', title: null, labelColor: '#333', labelLimit: LABEL_LIMIT },
  title: { anchor: 'start', fontSize: 15, subtitleColor: '#555', subtitleFontSize: 12, offset: 12 },
}

const COLOUR = {
  field: 'kind',
  type: 'nominal',
  scale: { domain: Object.keys(KINDS), range: Object.values(KINDS) },
} as const

/** What a plot says of a contender. */
export function labels(contender: Contender) {
  return { name: contender.title, kind: kind(contender) }
}

function kind({ id, durable, store }: Contender): Kind {
  if (id.startsWith('service-')) return 'this service'
  if (store === 'none') return 'keeps nothing'
  return durable ? 'as durable' : 'may lose writes'
}

/** Horizontal bars in their order, each with its value and its bounds. */
export function barLayers(
  field: string,
  title: string,
  order: 'ascending' | 'descending' = 'descending',
): { layer: Layers } {
  const y = {
    field: 'name',
    type: 'nominal',
    axis: { title: null, labelLimit: LABEL_LIMIT },
    sort: { field, op: 'max', order },
  } as const
  const x = { field, type: 'quantitative', axis: { title, format: '~s' } } as const
  return {
    layer: [
      { mark: { type: 'bar', cornerRadiusEnd: 2 }, encoding: { y, x, color: COLOUR } },
      {
        mark: { type: 'rule', color: '#333', strokeWidth: 1 },
        encoding: { y, x: { ...x, field: 'min' }, x2: { field: 'max' } },
      },
      {
        mark: { type: 'text', align: 'left', dx: 6, fontSize: 10, color: '#333' },
        encoding: { y, x: { ...x, field: 'max' }, text: { field, type: 'quantitative', format: ',.3~r' } },
      },
    ],
  }
}
