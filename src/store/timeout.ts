import { StoreUnavailable } from '../catalogue/store.ts'

/**
 * @param signal ends the wait.
 * @returns whether the work comes to `true` within so many milliseconds.
 * @throws the reason of the signal; what the work throws by then.
 */
export async function isTrueWithin(
  work: Promise<boolean>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<boolean> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), milliseconds)
  const abandon = () => reject(signal?.reason)
  signal?.addEventListener('abort', abandon)
  return await Promise.race([work, promise]).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
  })
}

/**
 * Waits for work, but no longer than so many milliseconds. Work that is late goes on; nobody hears how it ends.
 * @param late the message for when it is.
 * @throws StoreUnavailable when the time is over; else what the work throws.
 */
export async function within<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: string,
): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new StoreUnavailable(late)), milliseconds)
  return await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
