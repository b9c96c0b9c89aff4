import { StoreUnavailable } from '../../catalogue/store.ts'
import { FairQueue } from '../fair-queue.ts'
import type { Question, ReaderAnswer, ReaderRequest } from './query-thread.ts'
import { WorkerClient } from './worker.ts'

/** Questions that may wait. */
const MAX_WAITING = 1000

/** How long a thread may take to start, in milliseconds; several times what it needs. */
const START_TIME = 1000

/** A question exceeded its limit of time or rows. */
export class QueryTooLong extends StoreUnavailable {}

type Answer = Exclude<ReaderAnswer, 'too long'>

interface Pending extends PromiseWithResolvers<Answer> {
  readonly request: ReaderRequest
  readonly client: string
  timer: NodeJS.Timeout
}

/**
 * Asks a query thread one question at a time. The first question starts the thread. The clients take turns, and the
 * questions of each are answered in the order of arrival.
 */
export class SqliteReader {
  readonly #path: string
  readonly #runTime: number
  readonly #rows: number
  #thread: WorkerClient<ReaderRequest, ReaderAnswer> | undefined
  readonly #waiting = new FairQueue<Pending>(MAX_WAITING)
  #asked: Pending | undefined

  /**
   * @param path of a database file that has its schema.
   * @param runTime that a question may take once it has its turn, in milliseconds.
   * @param rows that it may read. With this limit, work that takes long without reading rows is not begun.
   */
  constructor(path: string, runTime: number, rows = Number.POSITIVE_INFINITY) {
    this.#path = path
    this.#runTime = runTime
    this.#rows = rows
  }

  /**
   * @param wait the longest wait for its turn, in milliseconds.
   * @param signal cancels the question.
   * @param client who asks.
   * @throws QueryTooLong; StoreUnavailable after too long a wait, or if too many wait, most of them of this client; the
   * reason of the signal.
   */
  async ask(
    question: Question,
    index: ReaderRequest['index'],
    wait: number,
    signal?: AbortSignal,
    client = '',
  ): Promise<Answer> {
    signal?.throwIfAborted()
    const pending: Pending = {
      request: { question, index, rows: this.#rows },
      client,
      ...Promise.withResolvers<Answer>(),
      timer: setTimeout(() => this.#abandon(pending, waitedTooLong()), wait),
    }
    const abandon = () => this.#abandon(pending, signal?.reason)
    signal?.addEventListener('abort', abandon)
    this.#waiting.add(pending)?.reject(tooMany())
    void this.#askNext()
    try {
      return await pending.promise
    } finally {
      clearTimeout(pending.timer)
      signal?.removeEventListener('abort', abandon)
    }
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Ends the thread after its current answer. Waiting questions fail. */
  async close(): Promise<void> {
    for (const pending of this.#waiting) this.#abandon(pending, new StoreUnavailable('the store is closed'))
    await this.#thread?.end()
  }

  /** A running question keeps its turn until the thread notices. */
  #abandon(pending: Pending, reason: unknown): void {
    this.#waiting.delete(pending)
    if (pending === this.#asked) this.#thread?.abandon()
    pending.reject(reason)
  }

  async #askNext(): Promise<void> {
    const next = this.#asked === undefined ? this.#waiting.take() : undefined
    if (next === undefined) return
    this.#asked = next
    clearTimeout(next.timer)
    let time = this.#runTime
    if (!this.#thread?.isAlive) {
      this.#thread = new WorkerClient('query', 'store/sqlite/query-thread', this.#path)
      time += START_TIME
    }
    next.timer = setTimeout(() => this.#abandon(next, ranTooLong()), time)
    try {
      const answer = await this.#thread.request(next.request)
      if (answer === 'too long') next.reject(ranTooLong())
      else next.resolve(answer)
    } catch (error) {
      next.reject(error)
    }
    this.#asked = undefined
    void this.#askNext()
  }
}

const tooMany = () => new StoreUnavailable('too many queries are waiting', { reason: 'overload' })
const waitedTooLong = () => new StoreUnavailable('the query has waited for too long', { reason: 'timeout' })
const ranTooLong = () => new QueryTooLong('the query has run for too long', { reason: 'timeout' })
