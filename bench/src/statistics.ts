/**
 * A percentile by the nearest rank: the smallest of the values that at least that part of them do not exceed.
 * @param ascending the values, in ascending order.
 * @param part from 0 to 1.
 * @returns NaN if there are no values.
 */
export function percentile(ascending: readonly number[], part: number): number {
  const rank = Math.max(1, Math.ceil(ascending.length * part))
  return ascending[rank - 1] ?? Number.NaN
}

/** The middle of what was measured several times, with its bounds. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** @returns undefined if there are no values. */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  const ascending = values.toSorted((a, b) => a - b)
  const middle = ascending.length / 2
  const [below = 0, above = 0] = [ascending[Math.ceil(middle) - 1], ascending[Math.floor(middle)]]
  return { median: (below + above) / 2, min: ascending[0] ?? below, max: ascending.at(-1) ?? above }
}
