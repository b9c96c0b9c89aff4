import type { Spread } from '../statistics.ts'

/** A number as people read it: three digits that count, and thousands apart. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toLocaleString('en', { maximumSignificantDigits: value < 1 ? 2 : 3 })
}

/** A ratio with its bounds over the rounds. */
export function ratio(value: Spread | undefined): string {
  if (value === undefined) return '–'
  const { median, min, max } = value
  return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`
}

/** @param bytes a size, shown in megabytes. */
export function megabytes(bytes: number): string {
  return number(bytes / 1e6)
}

/**
 * A Markdown table.
 * @param texts how many columns hold text; those after them hold numbers, which are aligned to the right.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  texts = head.length,
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const align = head.map((_, i) => (i < texts ? '---' : '---:'))
  return [head, align, ...rows].map(line).join('\n')
}
