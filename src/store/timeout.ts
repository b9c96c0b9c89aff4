import { StoreUnavailable } from '../catalogue/store.ts'

/** How long an operation may take, including waiting, unless STORE_TIMEOUT says otherwise; milliseconds. */
export const DEFAULT_TIMEOUT = 4000

/** The deadline of some work. */
export interface Deadline {
  /** Rejects with StoreUnavailable when the time is over, or with the reason of the signal. */
  readonly passed: Promise<never>
  isPassed(): boolean
  /** Call it when the work is done. */
  clear(): void
}

/**
 * @param time in milliseconds.
 * @param late returns the error; called when the time is over.
 * @param signal ends the time early.
 */
export function startDeadline(time: number, late: () => StoreUnavailable, signal?: AbortSignal): Deadline {
  const { promise, reject } = Promise.withResolvers<never>()
  let isPassed = false
  const pass = (reason: unknown) => {
    isPassed = true
    reject(reason)
  }
  // Node warns of a negative time.
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
 * Waits for work, at most this many milliseconds. Late work goes on, but its result is dropped.
 * @param late the message of the error when the time is over.
 * @param isWrite whether it is not known then what was written.
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

/**
 * @param signal ends the wait.
 * @returns whether the work resolves to `true` within this many milliseconds.
 * @throws the reason of the signal, or an earlier error of the work.
 */
export async function isTrueWithin(
  work: Promise<boolean>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<boolean> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), Math.max(0, milliseconds))
  const abandon = () => reject(signal?.reason)
  signal?.addEventListener('abort', abandon)
  return await Promise.race([work, promise]).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
  })
}
