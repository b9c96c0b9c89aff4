import type { IncomingMessage } from 'node:http'
import { Failure, failure } from '../envelope.ts'
import { askForBody, exemptFromTimeLimits, startTimer } from './close.ts'

/** A client has to send this many bytes per second, averaged over `PATIENCE`, so that it does not block an import. */
const MIN_RATE = 1024

/** How long it may send nothing, in milliseconds. */
const PATIENCE = 30_000

/**
 * Reads a long body. Only the time in which the consumer waits for the next chunk counts: the sender is not to blame for
 * a slow consumer. After a consumer has stopped early, another one can read the rest, with the same limits.
 * @param limit the maximum size, in bytes.
 * @throws Failure if the body is too large or arrives too slowly, or if the client closes the connection.
 */
export function uploaded(request: IncomingMessage, limit: number): AsyncIterable<Uint8Array> {
  let size = 0
  let left = PATIENCE
  async function* read(): AsyncGenerator<Uint8Array, void> {
    exemptFromTimeLimits(request)
    askForBody(request)
    // Keeps the connection open for the response, even if the rest of the body is not read.
    const iterator: AsyncIterator<Uint8Array> = request.iterator({ destroyOnReturn: false })
    let isWaiting = false
    try {
      for (;;) {
        const begin = performance.now()
        isWaiting = true
        const late = Promise.withResolvers<never>()
        const cancel = startTimer(left, () => late.reject(failure.requestTimeout))
        const { done, value } = await Promise.race([iterator.next(), late.promise]).finally(cancel)
        isWaiting = false
        if (done) return
        const rest = Math.max(0, left - (performance.now() - begin))
        left = Math.min(PATIENCE, rest + (value.length / MIN_RATE) * 1000)
        size += value.length
        if (size > limit) throw failure.bodyTooLarge
        yield value
      }
    } catch (error) {
      throw error instanceof Failure ? error : failure.badRequest
    } finally {
      // While a chunk is awaited, `return` would wait for it too.
      if (!isWaiting) await iterator.return?.()
    }
  }
  return { [Symbol.asyncIterator]: read }
}
