import { StoreUnavailable } from '../catalogue/store.ts'

/** Milliseconds that an operation may take, waiting included, unless STORE_TIMEOUT is set. */
export const DEFAULT_TIMEOUT = 4000

/**
 * @param time in milliseconds.
 * @param late makes the error with which `passed` rejects when the time is over.
 * @param signal ends it early, with its reason.
 * @returns also `clear`, which stops the timer. Call it when the work is done.
 */
export function startDeadline(time: number, late: () => Error, signal?: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>()
  let isPassed = false
  const pass = (reason: unknown) => {
    isPassed = true
    reject(reason)
  }
  // Node warns about a negative time.
  const timer = setTimeout(() => pass(late()), Math.max(0, time))
  const abandon = () => pass(signal?.reason)
  signal?.addEventListener('abort', abandon)
  promise.catch(() => {})
  const clear = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
  }
  return { passed: promise, isPassed: () => isPassed, clear }
}

/**
 * Waits for work for a limited time. Late work goes on, but its result is dropped.
 * @param late the message of the error when the time is over.
 * @param isWrite whether late work may have written something.
 * @throws StoreUnavailable when the time is over, or the error of the work.
 */
export async function withTimeout<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: string,
  isWrite = false,
): Promise<Result> {
  const deadline = startDeadline(
    milliseconds,
    () => new StoreUnavailable(late, { reason: 'timeout', nothingWritten: !isWrite }),
  )
  return await Promise.race([work, deadline.passed]).finally(deadline.clear)
}

/** @returns whether the work resolves to `true` in time. @throws the signal's reason, or the error of the work. */
export async function isTrueWithin(
  work: Promise<boolean>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const late = new Error('late')
  const deadline = startDeadline(milliseconds, () => late, signal)
  const isLate = deadline.passed.catch((error: unknown) => {
    if (error !== late) throw error
    return false
  })
  return await Promise.race([work, isLate]).finally(deadline.clear)
}
