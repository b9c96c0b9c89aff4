import { StoreUnavailable } from '../../catalogue/store.ts'
import { notAnswered } from './pool.ts'

/** The most requests in a batch, and their text in UTF-16 code units. A longer request is a batch of its own. */
const MAX_BATCH = 128
const MAX_BATCH_TEXT = 256 * 1024

/** The most requests that wait, and their text in UTF-16 code units. Further ones are refused at once. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** How long a request under way waits for its result after its deadline, in milliseconds. */
const GRACE_TIME = 50

/** The result of a request in a batch; undefined if the batch has left the request undone. */
export type Outcome<Result> = { readonly result: Result } | undefined

/** The requests of a batch whose deadline has not passed. */
interface Batch<Request> {
  readonly requests: readonly Request[]
  /** The earliest of their deadlines, as `Date.now()`. */
  readonly end: number
}

/** Which requests share a batch. */
export interface Grouping<Request> {
  /** Requests with the same key are done one after another, in the order of their arrival. */
  keyOf?(request: Request): number
  /** Only requests of the same shape share a batch. */
  shapeOf?(request: Request): string
  /** The length of all texts of a request, in UTF-16 code units. */
  lengthOf?(request: Request): number
}

export interface Operation<Request, Result> extends Grouping<Request> {
  readonly isWrite: boolean
  /**
   * Does several requests at once, or one.
   * @param take returns the requests. Call it before each attempt: a request whose client has been told meanwhile that
   * it failed must not be done any more.
   * @param time in milliseconds.
   * @param alone whether there is one request, which is to wait for locks that others hold.
   * @returns the outcomes of the requests that were taken last, in their order.
   */
  perform(take: () => Batch<Request>, time: number, alone: boolean): Promise<readonly Outcome<Result>[]>
  /** Whether the requests of a batch that failed with this error may be done again. */
  isRepeatable(error: unknown): boolean
  /** Whether this error means that the server does not know the statement for several requests. */
  isUnknown(error: unknown): boolean
  onBatch(requests: number): void
}

interface Pending<Request, Result> extends PromiseWithResolvers<Result | undefined> {
  readonly request: Request
  readonly key: number | undefined
  readonly shape: string | undefined
  readonly length: number
  /** Its deadline, as `Date.now()`. */
  readonly end: number
  timer?: NodeJS.Timeout
}

/**
 * Sends requests to the server in batches. A request that arrives alone is sent at once. Requests that arrive while
 * batches are under way wait and form the next batch, so each request sees every write that was acknowledged before it
 * arrived. A request that a batch leaves undone, for example because another transaction has locked its book, is done
 * alone while other batches go on.
 */
export class Batcher<Request, Result> {
  readonly #operation: Operation<Request, Result>
  readonly #maxBatches: number
  readonly #timeout: number
  readonly #waiting = new Set<Pending<Request, Result>>()
  #waitingText = 0
  #batches = 0
  #isScheduled = false
  /** False once the server has rejected the statement for several requests as unknown. */
  #isKnown = true
  readonly #busyKeys = new Set<number>()

  /** @param batches how many may be under way at the same time. @param timeout of a request, in milliseconds. */
  constructor(operation: Operation<Request, Result>, batches: number, timeout: number) {
    this.#operation = operation
    this.#maxBatches = batches
    this.#timeout = timeout
  }

  /**
   * @returns undefined if the request was left undone even alone: there was nothing to do.
   * @throws StoreUnavailable after the deadline, or at once if too much waits; else what the operation throws.
   */
  async do(request: Request): Promise<Result | undefined> {
    const { keyOf, shapeOf, lengthOf } = this.#operation
    const length = lengthOf?.(request) ?? 0
    if (this.#waiting.size >= MAX_WAITING || this.#waitingText + length > MAX_WAITING_TEXT)
      throw new StoreUnavailable('too many requests wait for the database server', {
        reason: 'overload',
        nothingWritten: true,
      })
    const pending: Pending<Request, Result> = {
      request,
      key: keyOf?.(request),
      shape: shapeOf?.(request),
      length,
      end: Date.now() + this.#timeout,
      ...Promise.withResolvers<Result | undefined>(),
    }
    this.#waiting.add(pending)
    this.#waitingText += length
    pending.timer = setTimeout(() => this.#expire(pending), this.#timeout)
    this.#sendSoon()
    return pending.promise
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Sends at the end of this turn of the event loop, so that its other requests join the batch. */
  #sendSoon(): void {
    if (this.#isScheduled || this.#batches >= this.#maxBatches) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #send(): void {
    while (this.#batches < this.#maxBatches) {
      const batch = this.#takeBatch()
      if (batch.length === 0) return
      this.#batches++
      this.#operation.onBatch(batch.length)
      void this.#doTogether(batch).then(() => {
        this.#batches--
        this.#send()
      })
    }
  }

  #takeBatch(): Pending<Request, Result>[] {
    const batch: Pending<Request, Result>[] = []
    const passedOver = new Set<number>()
    let text = 0
    for (const pending of this.#waiting) {
      const first = batch[0] ?? pending
      if (batch.length === MAX_BATCH || (batch.length > 0 && text + pending.length > MAX_BATCH_TEXT)) break
      if (pending.key !== undefined) {
        if (this.#busyKeys.has(pending.key) || passedOver.has(pending.key)) continue
        if (pending.shape !== first.shape) {
          passedOver.add(pending.key)
          continue
        }
        this.#busyKeys.add(pending.key)
      }
      text += pending.length
      this.#removeWaiting(pending)
      batch.push(pending)
    }
    return batch
  }

  /** Does not wait for requests that the batch leaves undone, so that the next batch can begin. */
  async #doTogether(batch: readonly Pending<Request, Result>[]): Promise<void> {
    const { perform, isRepeatable, isUnknown } = this.#operation
    let taken = batch
    const take = () => {
      taken = batch.filter(({ end }) => Date.now() < end)
      return {
        requests: taken.map(({ request }) => request),
        end: Math.min(...taken.map(({ end }) => end)),
      }
    }
    const end = Math.max(...batch.map(({ end }) => end))
    let outcomes: readonly Outcome<Result>[] = []
    let failure: StoreUnavailable | undefined
    try {
      if (this.#isKnown) outcomes = await perform(take, end - Date.now(), false)
    } catch (error) {
      if (isUnknown(error)) this.#isKnown = false
      if (!isRepeatable(error)) {
        for (const pending of batch) this.#settle(pending, () => pending.reject(error))
        return
      }
      if (error instanceof StoreUnavailable) failure = error
    }
    for (const pending of batch) {
      const outcome = outcomes[taken.indexOf(pending)]
      if (outcome !== undefined) this.#settle(pending, () => pending.resolve(outcome.result))
      else if (Date.now() < pending.end) void this.#doAlone(pending).then(() => this.#send())
      else this.#settle(pending, () => pending.reject(failure ?? this.#notDone()))
    }
  }

  #doAlone(pending: Pending<Request, Result>): Promise<void> {
    const { request, end, resolve, reject } = pending
    const take = () => ({ requests: [request], end })
    return this.#operation.perform(take, end - Date.now(), true).then(
      ([outcome]) => this.#settle(pending, () => resolve(outcome?.result)),
      (error) => this.#settle(pending, () => reject(error)),
    )
  }

  #settle(pending: Pending<Request, Result>, settle: () => void): void {
    clearTimeout(pending.timer)
    if (pending.key !== undefined) this.#busyKeys.delete(pending.key)
    settle()
  }

  /** A waiting request is never done. One under way waits a little longer: the pool may know whether it was stored. */
  #expire(pending: Pending<Request, Result>): void {
    if (!this.#waiting.has(pending)) {
      const late = () => pending.reject(notAnswered(this.#timeout, this.#operation.isWrite))
      pending.timer = setTimeout(late, GRACE_TIME)
      return
    }
    this.#removeWaiting(pending)
    pending.reject(this.#notDone())
  }

  /** The error for a request that was not done in time and never will be. */
  #notDone(): StoreUnavailable {
    const message = `the database server did not answer the requests before this one within ${this.#timeout / 1000} seconds`
    return new StoreUnavailable(message, { reason: 'timeout', nothingWritten: true })
  }

  #removeWaiting(pending: Pending<Request, Result>): void {
    this.#waiting.delete(pending)
    this.#waitingText -= pending.length
  }
}
