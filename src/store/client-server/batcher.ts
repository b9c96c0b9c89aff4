import { StoreUnavailable } from '../../catalogue/store.ts'
import { notAnswered } from './pool.ts'

/** The most requests in one batch. */
const MAX_BATCH = 128

/** The total size of the requests in a batch, unless it has only one; in UTF-16 code units of text. */
const MAX_BATCH_TEXT = 256 * 1024

/** How many requests may wait. Any more are refused at once. */
const MAX_WAITING = 5000

/** The total size of the requests that wait, in UTF-16 code units of text. Any more are refused at once. */
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** How much longer than its time a request under way waits for its result, in milliseconds. */
const MORE_TIME = 50

/** What a batch has done for one of its requests; undefined if the request still has to be done. */
export type Outcome<Result> = { readonly result: Result } | undefined

/** The requests of a batch whose time is not over yet. */
interface Batch<Request> {
  readonly requests: readonly Request[]
  /** When the time of the first of them is over, as `Date.now()`. */
  readonly end: number
}

interface Operation<Request, Result> {
  /**
   * Does requests together.
   * @param take returns them. To be called before each attempt: in the meantime, some may have been told that they
   * failed, and must not be done any more.
   * @param time in milliseconds.
   * @returns the outcomes of the requests that were taken last.
   */
  together(take: () => Batch<Request>, time: number): Promise<readonly Outcome<Result>[]>
  /** Does one request, and waits for what others have locked. @param time in milliseconds. */
  alone(request: Request, time: number): Promise<Result>
  /** Whether the requests of a batch that failed with this error may be done again. */
  isRepeatable(error: unknown): boolean
  /** Whether the server does not know the statement for several requests, as this error of it says. */
  isUnknown?(error: unknown): boolean
  /** Requests with the same key are done one after another, in the order of their arrival. */
  keyOf?(request: Request): number
  /** Only requests of the same shape are done together. */
  shapeOf?(request: Request): string
  /** The length of all texts of a request, in UTF-16 code units. */
  lengthOf?(request: Request): number
  readonly isWrite: boolean
  /** Called with the number of requests of each batch. */
  onBatch(requests: number): void
}

interface Pending<Request, Result> extends PromiseWithResolvers<Result> {
  readonly request: Request
  readonly key: number | undefined
  readonly shape: string | undefined
  readonly length: number
  /** When its time is over, as `Date.now()`. */
  readonly end: number
  /** Ends its time. */
  timer?: NodeJS.Timeout
}

/**
 * Sends requests to the server in batches. A request that comes alone is sent at once. Those that arrive while batches
 * are under way wait, and become the next batch: so a batch sees every write that was answered before one of its
 * requests arrived. What a batch leaves undone, as a book that another transaction has locked, is done alone, while
 * other batches go on.
 */
export class Batcher<Request, Result> {
  readonly #operation: Operation<Request, Result>
  readonly #maxBatches: number
  readonly #timeout: number
  readonly #waiting = new Set<Pending<Request, Result>>()
  #waitingText = 0
  #batches = 0
  #isScheduled = false
  /** Whether the server knows the statement for several requests, as far as is known. */
  #isKnown = true
  readonly #busyKeys = new Set<number>()

  /**
   * @param batches how many may be under way at the same time.
   * @param timeout how long a request may take, in milliseconds.
   */
  constructor(operation: Operation<Request, Result>, batches: number, timeout: number) {
    this.#operation = operation
    this.#maxBatches = batches
    this.#timeout = timeout
  }

  /**
   * @returns the result in time.
   * @throws StoreUnavailable after the deadline, or at once when too much waits; else what the operation throws.
   */
  async do(request: Request): Promise<Result> {
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
      ...Promise.withResolvers<Result>(),
    }
    this.#waiting.add(pending)
    this.#waitingText += length
    pending.timer = setTimeout(() => this.#expire(pending), this.#timeout)
    this.#sendSoon()
    return pending.promise
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Lets the other requests of this turn of the event loop join. */
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
      void this.#run(batch)
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

  async #run(batch: readonly Pending<Request, Result>[]): Promise<void> {
    this.#operation.onBatch(batch.length)
    this.#batches++
    await this.#doTogether(batch)
    this.#batches--
    this.#send()
  }

  /** Does not wait for what the batch leaves undone. */
  async #doTogether(batch: readonly Pending<Request, Result>[]): Promise<void> {
    const { together, isRepeatable, isUnknown } = this.#operation
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
      if (this.#isKnown) outcomes = await together(take, end - Date.now())
    } catch (error) {
      if (isUnknown?.(error)) this.#isKnown = false
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

  async #doAlone(pending: Pending<Request, Result>): Promise<void> {
    try {
      const result = await this.#operation.alone(pending.request, pending.end - Date.now())
      this.#settle(pending, () => pending.resolve(result))
    } catch (error) {
      this.#settle(pending, () => pending.reject(error))
    }
  }

  #settle(pending: Pending<Request, Result>, settle: () => void): void {
    clearTimeout(pending.timer)
    if (pending.key !== undefined) this.#busyKeys.delete(pending.key)
    settle()
  }

  /** A request that waits is never done. Of one under way the connection knows more, so it has a little more time. */
  #expire(pending: Pending<Request, Result>): void {
    if (!this.#waiting.has(pending)) {
      const late = () => pending.reject(notAnswered(this.#timeout, this.#operation.isWrite))
      pending.timer = setTimeout(late, MORE_TIME)
      return
    }
    this.#removeWaiting(pending)
    pending.reject(this.#notDone())
  }

  /** The error for a request that was not done in time, and never will be. */
  #notDone(): StoreUnavailable {
    const message = `the database server did not answer the requests before this one within ${this.#timeout / 1000} seconds`
    return new StoreUnavailable(message, { reason: 'timeout', nothingWritten: true })
  }

  #removeWaiting(pending: Pending<Request, Result>): void {
    this.#waiting.delete(pending)
    this.#waitingText -= pending.length
  }
}
