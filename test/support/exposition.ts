import assert from 'node:assert/strict'

/** A value of a metric, with its labels in the order in which they came. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

// Numbers as Go reads them: the case of letters does not matter.
const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)?\\})? (nan|[+-]inf|[+-]?[0-9.e+-]+)$`,
  'i',
)
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped']

/**
 * Reads Prometheus' text format, version 0.0.4, strictly.
 * @throws AssertionError for what a scrape would refuse, or what is not consistent.
 */
export function parseExposition(text: string): Sample[] {
  assert.ok(text.endsWith('\n'), 'the last line has no end')
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const seen = new Set<string>()
  const samples: Sample[] = []
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') helps.add(about)
    else if (kind === 'TYPE') {
      assert.ok(!types.has(about) && TYPES.includes(rest), line)
      types.set(about, rest)
    } else {
      const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(`no sample: ${line}`)
      const base = name.replace(/_(bucket|sum|count)$/, '')
      const family = types.get(base) === 'histogram' ? base : name
      assert.ok(types.has(family) && helps.has(family), `${family} has no TYPE or no HELP before it`)
      assert.ok(!seen.has(`${name}{${labels}}`), `twice: ${line}`)
      seen.add(`${name}{${labels}}`)
      samples.push({ name, labels: readLabels(labels), value: Number(value.replace('Inf', 'Infinity')) })
    }
  }
  for (const [name, type] of types) if (type === 'histogram') checkHistogram(name, samples)
  return samples
}

/** The sum of the samples that have the name and these labels, among others. */
export function total(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
}

function readLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name, value]) => [name, value]),
  )
}

/** Buckets ascend up to +Inf, which has as many as the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const buckets = new Map<string, { le: number; value: number }[]>()
  const counts = new Map<string, number>()
  for (const sample of samples) {
    const { le, ...labels } = sample.labels
    const key = JSON.stringify(labels)
    if (sample.name === `${name}_count`) counts.set(key, sample.value)
    if (sample.name !== `${name}_bucket`) continue
    const limit = Number(le?.replace('Inf', 'Infinity'))
    const last = buckets.get(key)?.at(-1)
    assert.ok(
      last === undefined || (limit > last.le && sample.value >= last.value),
      `${name} does not ascend`,
    )
    buckets.set(key, [...(buckets.get(key) ?? []), { le: limit, value: sample.value }])
  }
  assert.deepEqual([...buckets.keys()], [...counts.keys()])
  for (const [key, count] of counts)
    assert.deepEqual(buckets.get(key)?.at(-1), { le: Number.POSITIVE_INFINITY, value: count })
}
