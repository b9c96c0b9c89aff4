/** An operation on a register. Times are of one monotonic clock: `start` before it was sent, `end` after its response. */
export interface Operation<Value> {
  readonly kind: 'read' | 'write'
  /** What was written or read. No two writes are of the same value. */
  readonly value: Value
  readonly start: number
  readonly end: number
}

/**
 * Checks that a history of one register is linearizable: that each operation can have happened at one moment
 * between its start and its end. By the zones of Gibbons and Korach, Testing Shared Memories (1997), theorem 4.
 * @returns groups of operations that cannot all have happened, none if the history is linearizable.
 */
export function violations<Value>(history: readonly Operation<Value>[]): (readonly Operation<Value>[])[] {
  const byValue = [...Map.groupBy(history, ({ value }) => value).values()]
  // What nobody wrote was read, or what was written later.
  const unwritten = byValue.filter((operations) => {
    const write = operations.find(({ kind }) => kind === 'write')
    return write === undefined || operations.some(({ end }) => end < write.start)
  })
  // In a linear order, the operations on one value follow one another, and nothing else is between.
  const zones = byValue.map((operations) => ({
    operations,
    /** After this the value was there. */
    firstEnd: Math.min(...operations.map(({ end }) => end)),
    /** Before this the value was not yet replaced. */
    lastStart: Math.max(...operations.map(({ start }) => start)),
  }))
  // Between the two, if that is forward in time, the register surely had this value, and no other one.
  const conflicting = zones
    .filter(({ firstEnd, lastStart }) => firstEnd < lastStart)
    .flatMap((zone) =>
      zones
        .filter(
          (other) => other !== zone && zone.firstEnd < other.lastStart && other.firstEnd < zone.lastStart,
        )
        .map((other) => [...zone.operations, ...other.operations]),
    )
  return [...unwritten, ...conflicting]
}
