import assert from 'node:assert/strict'

/** A value of a metric, with its labels in the order in which they came. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Reads the lines of samples in Prometheus' text format, version 0.0.4. What else a scrape would refuse,
 * test/deploy/prometheus.release.ts finds with promtool.
 * @throws AssertionError for a line that is no sample, or the second of a series.
 */
export function parseExposition(text: string): Sample[] {
  const samples = new Map<string, Sample>()
  for (const line of text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const [, series = '', name = '', labels = '', value] =
      /^(([a-zA-Z_:]\w*)(?:\{(.+)\})?) (\S+)$/.exec(line) ?? assert.fail(`no sample: ${line}`)
    assert.ok(!samples.has(series), `twice: ${line}`)
    const pairs = Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name, value]) => [
      name,
      value,
    ])
    samples.set(series, { name, labels: Object.fromEntries(pairs), value: Number(value) })
  }
  return [...samples.values()]
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
