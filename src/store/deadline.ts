import { StoreUnavailable } from './store.ts'

/**
 * Waits for work, but no longer than so many milliseconds. Work that is late goes on; nobody hears how it ends.
 * @param late the message for when it is.
 * @param signal ends the wait.
 * @throws StoreUnavailable when the time is over; the reason of the signal; else what the work throws.
 */
export async function within<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: string,
  signal?: AbortSignal,
): Promise<Result> {
  signal?.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new StoreUnavailable(late)), milliseconds)
  const abandon = () => reject(signal?.reason)
  signal?.addEventListener('abort', abandon)
  return await Promise.race([work, promise]).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
  })
}
