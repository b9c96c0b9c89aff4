/** How fast a client has to send. */
export interface LeastRate {
  /** Bytes per second, as an average over the time that it may be silent. */
  readonly rate: number
  /** How long it may be silent, in milliseconds. */
  readonly patience: number
}

/**
 * Passes chunks on as long as enough arrives. Only the time counts in which the receiver waits for the next chunk: the
 * sender is not to blame for a slow receiver.
 * @throws what `late` returns, when too little has arrived.
 */
export async function* atLeast(
  chunks: AsyncIterable<Uint8Array>,
  { rate, patience }: LeastRate,
  late: () => Error,
): AsyncGenerator<Uint8Array, void> {
  const iterator = chunks[Symbol.asyncIterator]()
  let left = patience
  let isWaiting = false
  try {
    for (;;) {
      const begin = performance.now()
      isWaiting = true
      const over = Promise.withResolvers<never>()
      const timer = setTimeout(() => over.reject(late()), left)
      const next = await Promise.race([iterator.next(), over.promise]).finally(() => clearTimeout(timer))
      isWaiting = false
      if (next.done) return
      left = Math.min(patience, left - (performance.now() - begin) + (next.value.length / rate) * 1000)
      yield next.value
    }
  } finally {
    // If a chunk is still due, `return` would wait for it too.
    if (!isWaiting) await iterator.return?.()
  }
}
