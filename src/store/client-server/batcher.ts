import { channel } from 'node:diagnostics_channel'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { type ConnectionPool, notAnswered } from './pool.ts'

/** The most requests in a batch, and their text in UTF-16 code units. A longer request is a batch of its own. */
const MAX_BATCH = 128
const MAX_BATCH_TEXT = 256 * 1024

/** The most requests that wait, and their text in UTF-16 code units. Further ones are refused at once. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** How long a request under way waits for its result after its deadline, in milliseconds. */
const GRACE_TIME = 50

/** How many batches may be under way at the same time: while the server answers one of reads, the next is built. */
const MAX_BATCHES = { read: 2, write: 1 }

/** The message is the number of requests in a batch. */
const CHANNELS = {
  read: channel('book-catalogue.batched-reads'),
  write: channel('book-catalogue.group-commit'),
}

/** Requests of one kind, some of which can share a batch. */
export interface Operation<Connection, Request, Result> {
  readonly kind: 'read' | 'write'
  /**
   * Does several requests at once, or one.
   * @param end when nothing may be written any more, as `Date.now()`: the earliest of their deadlines.
   * @param alone whether there is one request, which is to wait for locks that others hold.
   * @returns the results in the order of the requests; undefined for each that the batch has left undone.
   */
  perform(
    connection: Connection,
    requests: readonly Request[],
    end: number,
    alone: boolean,
  ): Promise<readonly (Result | undefined)[]>
  /** Requests with the same key are done one after another, in the order of their arrival. */
  keyOf?(request: Request): number
  /** Only requests of the same shape share a batch. */
  shapeOf?(request: Request): string
  /** The length of all texts of a request, in UTF-16 code units. */
  lengthOf?(request: Request): number
}

type Pool<Connection> = Pick<
  ConnectionPool<Connection>,
  'run' | 'notConnected' | 'hasDoneNothing' | 'isUnknownSyntax' | 'timeout'
>

interface Pending<Request, Result> extends PromiseWithResolvers<Result | undefined> {
  readonly request: Request
  readonly key: number | undefined
  readonly shape: string | undefined
  readonly length: number
  /** Its deadline, as `Date.now()`. */
  readonly end: number
  timer?: NodeJS.Timeout
  /** `over`: its time was over before it was sent, so it never will be. */
  state?: 'sent' | 'over'
}

/**
 * Sends requests to the server in batches. A request that arrives alone is sent at once. Requests that arrive while
 * batches are under way wait and form the next batch, so each request sees every write that was acknowledged before it
 * arrived. A request that a batch leaves undone, for example because another transaction has locked its book, is done
 * alone while other batches go on.
 */
export class Batcher<Connection, Request, Result> {
  readonly #pool: Pool<Connection>
  readonly #operation: Operation<Connection, Request, Result>
  readonly #maxBatches: number
  readonly #waiting = new Set<Pending<Request, Result>>()
  #waitingText = 0
  #batches = 0
  #isScheduled = false
  /** False once the server has rejected the statement for several requests as unknown. */
  #isKnown = true
  readonly #busyKeys = new Set<number>()

  constructor(
    pool: Pool<Connection>,
    operation: Operation<Connection, Request, Result>,
    maxBatches = MAX_BATCHES[operation.kind],
  ) {
    this.#pool = pool
    this.#operation = operation
    this.#maxBatches = maxBatches
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
      end: Date.now() + this.#pool.timeout,
      ...Promise.withResolvers<Result | undefined>(),
    }
    this.#waiting.add(pending)
    this.#waitingText += length
    pending.timer = setTimeout(() => this.#expire(pending), this.#pool.timeout)
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
      CHANNELS[this.#operation.kind].publish(batch.length)
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
    let results: ReadonlyMap<Pending<Request, Result>, Result | undefined> = new Map()
    let failure: StoreUnavailable | undefined
    try {
      if (this.#isKnown) results = await this.#perform(batch, false)
    } catch (error) {
      if (this.#pool.isUnknownSyntax(error)) this.#isKnown = false
      if (this.#isWrite && !this.#pool.hasDoneNothing(error)) {
        for (const pending of batch) this.#settle(pending, () => pending.reject(error))
        return
      }
      if (error instanceof StoreUnavailable) failure = error
    }
    for (const pending of batch) {
      const result = results.get(pending)
      if (result !== undefined) this.#settle(pending, () => pending.resolve(result))
      else if (Date.now() < pending.end) void this.#doAlone(pending).then(() => this.#send())
      else this.#settle(pending, () => pending.reject(failure ?? this.#notDone()))
    }
  }

  #doAlone(pending: Pending<Request, Result>): Promise<void> {
    return this.#perform([pending], true).then(
      (results) => this.#settle(pending, () => pending.resolve(results.get(pending))),
      (error) => this.#settle(pending, () => pending.reject(error)),
    )
  }

  /** @returns the results of the requests whose deadlines had not passed at the last attempt. */
  #perform(batch: readonly Pending<Request, Result>[], alone: boolean) {
    const { kind, perform } = this.#operation
    const time = Math.max(...batch.map(({ end }) => end)) - Date.now()
    const work = async (connection: Connection) => {
      // The clients of the others have been told meanwhile that they failed.
      const taken = batch.filter(({ end, state }) => state !== 'over' && (alone || Date.now() < end))
      if (taken.length === 0) return new Map<Pending<Request, Result>, Result | undefined>()
      for (const pending of taken) pending.state = 'sent'
      const requests = taken.map(({ request }) => request)
      const end = Math.min(...taken.map(({ end }) => end))
      const results = await perform(connection, requests, end, alone)
      return new Map(taken.map((pending, i) => [pending, results[i]]))
    }
    return this.#pool.run(work, { time, kind, isConflictRepeated: alone || !this.#isWrite })
  }

  get #isWrite(): boolean {
    return this.#operation.kind === 'write'
  }

  #settle(pending: Pending<Request, Result>, settle: () => void): void {
    clearTimeout(pending.timer)
    if (pending.key !== undefined) this.#busyKeys.delete(pending.key)
    settle()
  }

  /** One that was sent waits a little longer: the pool may know whether it was stored. */
  #expire(pending: Pending<Request, Result>): void {
    const { timeout } = this.#pool
    if (pending.state === 'sent') {
      pending.timer = setTimeout(() => pending.reject(notAnswered(timeout, this.#isWrite)), GRACE_TIME)
      return
    }
    pending.state = 'over'
    // If it does not wait, its batch waits for a connection.
    const isWaiting = this.#waiting.has(pending)
    if (isWaiting) this.#removeWaiting(pending)
    pending.reject(isWaiting ? this.#notDone() : this.#pool.notConnected(timeout))
  }

  /** The error for a request that was not done in time and never will be. */
  #notDone(): StoreUnavailable {
    const message = `the database server did not answer the requests before this one within ${this.#pool.timeout / 1000} seconds`
    return new StoreUnavailable(message, { reason: 'timeout', nothingWritten: true })
  }

  #removeWaiting(pending: Pending<Request, Result>): void {
    this.#waiting.delete(pending)
    this.#waitingText -= pending.length
  }
}
