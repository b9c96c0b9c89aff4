import { StoreUnavailable } from '../../catalogue/store.ts'
import { errorOf } from './failure.ts'
import type { Question, ReaderAnswer, ReaderMessage } from './query-thread.ts'
import { SqliteThread } from './worker.ts'

/** Questions that may wait; more are turned away at once. */
const MAX_WAITING = 1000

/** How long a thread may take to start, in milliseconds; several times what it needs. */
const START_TIME = 1000

/** A question has run for longer than it may. */
export class QueryTooLong extends StoreUnavailable {}

type Answer = Exclude<ReaderAnswer, { error: Error }>

type Thread = SqliteThread<ReaderMessage, ReaderAnswer>

interface Pending extends PromiseWithResolvers<Answer> {
  readonly message: ReaderMessage
  timer: NodeJS.Timeout
}

/**
 * Asks a thread that answers queries, one question at a time. The thread is started with the first. Questions have
 * their turns in the order in which they came: since a connection has one at a time, the connections take turns.
 */
export class SqliteReader {
  readonly #path: string
  readonly #runTime: number
  #thread: Thread | undefined
  readonly #waiting = new Set<Pending>()
  #asked: Pending | undefined

  /**
   * @param path of a database file that has its schema.
   * @param runTime that a question may take once it has its turn, in milliseconds.
   */
  constructor(path: string, runTime: number) {
    this.#path = path
    this.#runTime = runTime
  }

  /**
   * @param wait for its turn at most, in milliseconds.
   * @param signal gives the question up.
   * @throws QueryTooLong; StoreUnavailable when it has waited for too long, or at once when too many wait already; the reason
   * of the signal.
   */
  async ask(
    question: Question,
    index: ReaderMessage['index'],
    wait: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    signal?.throwIfAborted()
    if (this.#waiting.size >= MAX_WAITING) throw new StoreUnavailable('too many queries are waiting')
    const message = { question, index, abandoned: new Int32Array(new SharedArrayBuffer(4)) }
    const pending: Pending = {
      message,
      ...Promise.withResolvers<Answer>(),
      timer: setTimeout(() => this.#abandon(pending, waitedTooLong()), wait),
    }
    const abandon = () => this.#abandon(pending, signal?.reason)
    signal?.addEventListener('abort', abandon)
    this.#waiting.add(pending)
    this.#askNext()
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

  /** Ends the thread, once it has answered what it was asked; what waits fails. */
  async close(): Promise<void> {
    for (const pending of this.#waiting) this.#abandon(pending, new StoreUnavailable('the store is closed'))
    await this.#thread?.end()
  }

  /** One that is running has its turn until the thread has noticed. */
  #abandon(pending: Pending, reason: unknown): void {
    this.#waiting.delete(pending)
    Atomics.store(pending.message.abandoned, 0, 1)
    pending.reject(reason)
  }

  #askNext(): void {
    const [next] = this.#waiting
    if (this.#asked !== undefined || next === undefined) return
    this.#waiting.delete(next)
    this.#asked = next
    clearTimeout(next.timer)
    const time = this.#thread === undefined ? START_TIME + this.#runTime : this.#runTime
    next.timer = setTimeout(() => this.#abandon(next, ranTooLong()), time)
    this.#thread ??= this.#start()
    this.#thread.post(next.message)
  }

  #answered(answer: ReaderAnswer): void {
    const asked = this.#asked
    this.#asked = undefined
    this.#askNext()
    if (typeof answer === 'object' && 'error' in answer) asked?.reject(errorOf(answer))
    else asked?.resolve(answer)
  }

  #start(): Thread {
    return new SqliteThread('./query-thread.ts', this.#path, {
      answered: (answer) => this.#answered(answer),
      ended: (cause) => {
        this.#thread = undefined
        const asked = this.#asked
        this.#asked = undefined
        asked?.reject(new StoreUnavailable('the thread that answers queries died', { cause }))
        this.#askNext()
      },
    })
  }
}

const waitedTooLong = () => new StoreUnavailable('the query has waited for too long')
const ranTooLong = () => new QueryTooLong('the query has run for too long')
