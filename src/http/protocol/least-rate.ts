import { startTimer } from './close.ts'

interface MinimumRate {
  /** Bytes per second, averaged over `patience`. */
  readonly rate: number
  /** How long the client may send nothing, in milliseconds. */
  readonly patience: number
}

/**
 * Passes chunks on while they arrive fast enough. Only the time in which the consumer waits for the next chunk counts:
 * the sender is not to blame for a slow consumer.
 * @throws what `late` returns, if too little has arrived.
 */
export async function* atLeast(
  chunks: AsyncIterable<Uint8Array>,
  { rate, patience }: MinimumRate,
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
      const cancel = startTimer(left, () => over.reject(late()))
      const next = await Promise.race([iterator.next(), over.promise]).finally(cancel)
      isWaiting = false
      if (next.done) return
      const rest = Math.max(0, left - (performance.now() - begin))
      left = Math.min(patience, rest + (next.value.length / rate) * 1000)
      yield next.value
    }
  } finally {
    // While a chunk is awaited, `return` would wait for it too.
    if (!isWaiting) await iterator.return?.()
  }
}
