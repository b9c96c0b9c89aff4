import { StoreUnavailable } from '../../catalogue/store.ts'
import { DEADLINE } from '../timeout.ts'

/** How many requests may wait. Any more are refused at once. */
const MAX_WAITING = 5000

/** The most requests in one batch. */
const MAX_BATCH = 128

/** The total size of the requests in a batch, unless it has only one; in UTF-16 code units of text. */
const MAX_BATCH_TEXT = 256 * 1024

/** The total size of the requests that wait, in UTF-16 code units of text. Any more are refused at once. */
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** What a batch has done for one of its requests; undefined if the request still has to be done. */
export type Outcome<Result> = { readonly result: Result } | undefined

interface Operation<Request, Result> {
  /** Does the requests together. If it fails, none was done, or it is unknown which. @param time in milliseconds. */
  together(requests: readonly Request[], time: number): Promise<readonly Outcome<Result>[]>
  /** Does one request. @param time in milliseconds. */
  alone(request: Request, time: number): Promise<Result>
  /** Whether a batch that failed with this error has certainly done nothing, or may be done twice. */
  isRepeatable(error: unknown): boolean
  /** Requests with the same key are done one after another, in the order of their arrival. */
  keyOf?(request: Request): number
  /** The length of all texts of a request, in UTF-16 code units. */
  lengthOf?(request: Request): number
  /** The message for a request that was in a batch when its time was over. */
  readonly late: string
  /** Called with the number of requests of each batch. */
  onBatch(requests: number): void
}

interface Pending<Request, Result> extends PromiseWithResolvers<Result> {
  readonly request: Request
  readonly key: number | undefined
  readonly length: number
  /** When its time is over, as `Date.now()`. */
  readonly end: number
  readonly timer: NodeJS.Timeout
}

/**
 * Sends requests to the server in batches. A request that comes alone is sent at once. Those that arrive while batches
 * are under way wait, and become the next batch: so a batch sees every write that was answered before one of its
 * requests arrived. What a batch leaves undone, as a book that another transaction has locked, is done alone.
 */
export class Batcher<Request, Result> {
  readonly #operation: Operation<Request, Result>
  readonly #maxBatches: number
  #waiting = new Set<Pending<Request, Result>>()
  #waitingText = 0
  #batches = 0
  #scheduled = false
  readonly #busyKeys = new Set<number>()

  /** @param batches how many may be under way at the same time. */
  constructor(operation: Operation<Request, Result>, batches: number) {
    this.#operation = operation
    this.#maxBatches = batches
  }

  /**
   * @returns the result within DEADLINE.
   * @throws StoreUnavailable after the deadline, or at once when too much waits; else what the operation throws.
   */
  do(request: Request): Promise<Result> {
    const { keyOf, lengthOf } = this.#operation
    const length = lengthOf?.(request) ?? 0
    if (this.#waiting.size >= MAX_WAITING || this.#waitingText + length > MAX_WAITING_TEXT)
      throw new StoreUnavailable('too many requests wait for the database server')
    const pending: Pending<Request, Result> = {
      request,
      key: keyOf?.(request),
      length,
      end: Date.now() + DEADLINE,
      timer: setTimeout(() => this.#expire(pending), DEADLINE),
      ...Promise.withResolvers<Result>(),
    }
    this.#waiting.add(pending)
    this.#waitingText += length
    this.#sendSoon()
    return pending.promise
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Lets the other requests of this turn of the event loop join. */
  #sendSoon(): void {
    if (this.#scheduled || this.#batches >= this.#maxBatches) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
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
    let text = 0
    for (const pending of this.#waiting) {
      if (batch.length === MAX_BATCH || (batch.length > 0 && text + pending.length > MAX_BATCH_TEXT)) break
      if (pending.key !== undefined) {
        if (this.#busyKeys.has(pending.key)) continue
        this.#busyKeys.add(pending.key)
      }
      text += pending.length
      this.#removeWaiting(pending)
      batch.push(pending)
    }
    return batch
  }

  async #run(batch: readonly Pending<Request, Result>[]): Promise<void> {
    const { together, isRepeatable, onBatch } = this.#operation
    this.#batches++
    onBatch(batch.length)
    let outcomes: readonly Outcome<Result>[] = []
    let failure: { readonly error: unknown } | undefined
    try {
      const last = batch.at(-1) as Pending<Request, Result>
      outcomes = await together(
        batch.map(({ request }) => request),
        last.end - Date.now(),
      )
    } catch (error) {
      if (!isRepeatable(error)) failure = { error }
    }
    this.#batches--
    for (const [i, pending] of batch.entries()) {
      const outcome = outcomes[i]
      if (failure !== undefined) this.#settle(pending, () => pending.reject(failure.error))
      else if (outcome !== undefined) this.#settle(pending, () => pending.resolve(outcome.result))
      else void this.#runAlone(pending)
    }
    this.#send()
  }

  async #runAlone(pending: Pending<Request, Result>): Promise<void> {
    try {
      const result = await this.#operation.alone(pending.request, pending.end - Date.now())
      this.#settle(pending, () => pending.resolve(result))
    } catch (error) {
      this.#settle(pending, () => pending.reject(error))
    }
    this.#sendSoon()
  }

  #settle(pending: Pending<Request, Result>, settle: () => void): void {
    clearTimeout(pending.timer)
    if (pending.key !== undefined) this.#busyKeys.delete(pending.key)
    settle()
  }

  /** A request that waits is never done. One that is under way goes on, but nobody waits for its result. */
  #expire(pending: Pending<Request, Result>): void {
    const isWaiting = this.#waiting.has(pending)
    if (isWaiting) this.#removeWaiting(pending)
    const message = isWaiting ? 'the database server has been busy for too long' : this.#operation.late
    pending.reject(new StoreUnavailable(message))
  }

  #removeWaiting(pending: Pending<Request, Result>): void {
    this.#waiting.delete(pending)
    this.#waitingText -= pending.length
  }
}
