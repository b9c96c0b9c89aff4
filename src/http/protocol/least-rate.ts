/** What a client has to send. */
export interface LeastRate {
  /** Bytes per second, on the average of as long as it may be silent. */
  readonly rate: number
  /** How long it may be silent, in milliseconds. */
  readonly patience: number
}

/**
 * Passes on what arrives, as long as enough of it does. Only the time counts in which somebody waits for the next
 * chunk: the sender is not to blame for a slow receiver.
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
      const next = await within(iterator.next(), left, late)
      isWaiting = false
      if (next.done) return
      left = Math.min(patience, left - (performance.now() - begin) + (next.value.length / rate) * 1000)
      yield next.value
    }
  } finally {
    // While a chunk is waited for, this would wait for it too.
    if (!isWaiting) await iterator.return?.()
  }
}

/** @throws what `late` returns, if the time is over first. */
async function within<Result>(work: Promise<Result>, time: number, late: () => Error): Promise<Result> {
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => over.reject(late()), time)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
  }
}
