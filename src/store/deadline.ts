import { StoreUnavailable } from './store.ts'

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
