/** An operation on a register. Times are of one monotonic clock: `start` before it was sent, `end` after its response. */
export interface Operation<Value> {
  readonly kind: 'read' | 'write'
  /** What was written or read. No two writes are of the same value. */
  readonly value: Value
  readonly start: number
  readonly end: number
}

/** A write and the reads of its value: in a linear order they follow one another, and nothing else is between. */
interface Cluster<Value> {
  readonly value: Value
  readonly write: Operation<Value>
  readonly operations: readonly Operation<Value>[]
  /** When the first operation ended, after which the value was there. */
  readonly firstEnd: number
  /** When the last operation began, before which the value was not yet replaced. */
  readonly lastStart: number
}

/**
 * Checks that a history of one register is linearizable: that each operation can have happened at one moment
 * between its start and its end. By the zones of Gibbons and Korach, Testing Shared Memories (1997), theorem 4.
 * @returns what is wrong, empty if the history is linearizable.
 */
export function violations<Value>(history: readonly Operation<Value>[]): string[] {
  const written = new Map(history.filter(({ kind }) => kind === 'write').map((write) => [write.value, write]))
  const unwritten = history.filter(({ value }) => !written.has(value))
  const all = clusters(history, written)
  const premature = all.flatMap(({ write, operations }) => operations.filter(({ end }) => end < write.start))
  // From the first end to the last start the register surely had this value, if that is forward in time.
  const forward = all.filter(({ firstEnd, lastStart }) => firstEnd < lastStart).toSorted(byFirstEnd)
  const backward = all.filter(({ firstEnd, lastStart }) => firstEnd >= lastStart)
  return [
    ...unwritten.map((read) => `nobody wrote what was read: ${describe(read)}`),
    ...premature.map((read) => `read before it was written: ${describe(read)}`),
    ...overlapping(forward).map(([a, b]) => `both had to be the value at one time: ${zone(a)}, ${zone(b)}`),
    ...within(backward, forward).map(
      ([inner, outer]) =>
        `written and gone while another had to be the value: ${zone(inner)}, ${zone(outer)}`,
    ),
  ]
}

function clusters<Value>(
  history: readonly Operation<Value>[],
  written: ReadonlyMap<Value, Operation<Value>>,
): Cluster<Value>[] {
  const byValue = Map.groupBy(history, ({ value }) => value)
  return [...written].map(([value, write]) => {
    const operations = byValue.get(value) ?? []
    const firstEnd = Math.min(...operations.map(({ end }) => end))
    const lastStart = Math.max(...operations.map(({ start }) => start))
    return { value, write, operations, firstEnd, lastStart }
  })
}

/** @param zones in the order of their first ends; if any two of them overlap, two neighbours do. */
function overlapping<Value>(zones: readonly Cluster<Value>[]) {
  return zones.flatMap((zone, i) => {
    const next = zones[i + 1]
    return next !== undefined && next.firstEnd < zone.lastStart ? [[zone, next] as const] : []
  })
}

function within<Value>(backward: readonly Cluster<Value>[], forward: readonly Cluster<Value>[]) {
  return backward.flatMap((inner) => {
    const outer = forward.find((zone) => zone.firstEnd < inner.lastStart && inner.firstEnd < zone.lastStart)
    return outer === undefined ? [] : [[inner, outer] as const]
  })
}

function byFirstEnd<Value>(a: Cluster<Value>, b: Cluster<Value>): number {
  return a.firstEnd - b.firstEnd
}

function describe<Value>({ kind, value, start, end }: Operation<Value>): string {
  return `${kind} of ${String(value)} from ${start} to ${end}`
}

function zone<Value>({ value, firstEnd, lastStart }: Cluster<Value>): string {
  return `${String(value)} (first end ${firstEnd}, last start ${lastStart})`
}
