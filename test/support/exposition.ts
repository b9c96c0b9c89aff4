import assert from 'node:assert/strict'

/** A value of a metric, with its labels in the order in which they came. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

// Numbers as Go reads them: the case of letters does not matter.
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const SAMPLE = new RegExp(
  `^([a-zA-Z_:][\\w:]*)(?:\\{(${LABEL}(?:,${LABEL})*)?\\})? (nan|[+-]inf|[+-]?[0-9.e+-]+)$`,
  'i',
)
const COMMENT = /^# (?:HELP \S+ .+|TYPE (\S+) (?:counter|gauge|histogram|summary|untyped))$/

/**
 * Reads Prometheus' text format, version 0.0.4. Prometheus itself reads it in test/deploy/prometheus.release.ts.
 * @throws AssertionError for a line that a scrape would refuse.
 */
export function parseExposition(text: string): Sample[] {
  assert.ok(text.endsWith('\n'), 'the last line has no end')
  const types = new Set<string>()
  const samples = new Map<string, Sample>()
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const comment = COMMENT.exec(line)
    if (comment !== null) {
      assert.ok(!types.has(comment[1] ?? ''), line)
      if (comment[1] !== undefined) types.add(comment[1])
      continue
    }
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(`no sample: ${line}`)
    const family = name.replace(/_(bucket|sum|count)$/, '')
    assert.ok(types.has(name) || types.has(family), `${name} has no TYPE before it`)
    assert.ok(!samples.has(`${name}{${labels}}`), `twice: ${line}`)
    const sample = { name, labels: readLabels(labels), value: Number(value.replace('Inf', 'Infinity')) }
    samples.set(`${name}{${labels}}`, sample)
  }
  return [...samples.values()]
}

const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name, value]) => [name, value]),
  )

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
