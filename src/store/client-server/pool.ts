import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { startDeadline } from '../timeout.ts'
import type { Kind, User } from './connections.ts'
import { type ConnectionLimits, Connections, type Driver, NotConnected } from './connections.ts'
import { type FailureOutcome, isUndone } from './errors.ts'

/** How often work is tried that the server rolls back because of a conflict. */
const ATTEMPTS = 5

/** How often a read is repeated after its connection was lost. No more, because the read may be the cause. */
const LOST_ATTEMPTS = 3

/** The longest pauses before the first retry and before any, in milliseconds. They are random: others retry too. */
const PAUSE = 50
const LONGEST_PAUSE = 400

/** The least time for another attempt, in milliseconds. With less, it would not be known what became of it. */
const LEAST_TIME = 100

interface PoolOptions extends ConnectionLimits {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
}

export interface RunOptions {
  /** For everything: waiting, connecting, working and trying again; in milliseconds. */
  readonly time?: number
  /** By default a write. All others may be repeated after a lost connection. */
  readonly kind?: Kind
  readonly client?: string | undefined
  /** Whether the work may be done again if the server has certainly not done it. By default true. */
  readonly isRepeatable?: boolean
  /** Whether work is tried again that the server has rolled back because of a conflict. By default true. */
  readonly isConflictRepeated?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Does work on the connections to one database server within a deadline, and again where that is safe. */
export class ConnectionPool<Connection> {
  readonly timeout: number
  readonly #driver: Driver<Connection>
  readonly #connections: Connections<Connection>
  #isOpened = false

  constructor(driver: Driver<Connection>, { timeout, ...limits }: PoolOptions) {
    this.timeout = timeout
    this.#driver = driver
    this.#connections = new Connections(driver, limits)
  }

  /** Call it once the database is prepared. From then on, any failure to connect counts as one that may pass. */
  opened(): void {
    this.#isOpened = true
  }

  /**
   * Does the work on a connection. Repeats it if the server has certainly not done it, and a read also after a lost
   * connection.
   * @param work may be called several times. `end` is its deadline, as `Date.now()`.
   * @throws StoreUnavailable after the deadline, if too many wait, and for errors that may pass; the reason of the
   * signal; else what connecting or the work throws.
   */
  async run<Result>(
    work: (connection: Connection, end: number) => Promise<Result>,
    { time = this.timeout, ...options }: RunOptions = {},
  ): Promise<Result> {
    const end = Date.now() + time
    const { kind = 'write', signal } = options
    let cause: unknown
    const failures = { conflict: 0, lost: 0 }
    for (let number = 1; ; number++) {
      try {
        return await this.#attempt(work, end, time, cause, options)
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) throw error
        const outcome = error instanceof NotConnected ? undefined : this.#driver.meaningOf(error).outcome
        if (outcome === 'conflict' || outcome === 'lost') failures[outcome]++
        const pause = Math.min(PAUSE * 2 ** (number - 1), LONGEST_PAUSE) * Math.random()
        const isLate = Date.now() + pause + LEAST_TIME >= end
        if (isLate || !this.#isToRepeat(outcome, failures, options)) throw this.#failure(error, kind)
        await timers.setTimeout(pause)
        if (this.#connections.isClosed) throw this.#failure(error, kind)
        cause = causeOf(error)
      }
    }
  }

  /** Whether the server has certainly not done the work that failed with this error. */
  hasDoneNothing(error: unknown): boolean {
    return error instanceof StoreUnavailable ? error.nothingWritten : isUndone(this.#driver.meaningOf(error))
  }

  isUnknownSyntax(error: unknown): boolean {
    return this.#driver.meaningOf(error).isUnknownSyntax === true
  }

  /** The error for work that had no connection in time. @param time in milliseconds. */
  notConnected(time: number, cause = this.#connections.connectError): StoreUnavailable {
    const message = `no connection to the database server was available within ${seconds(time)}`
    const reason = cause === undefined ? 'timeout' : (this.#driver.meaningOf(cause).reason ?? 'other')
    return new StoreUnavailable(message, { cause, reason, nothingWritten: true })
  }

  renew(): void {
    this.#connections.renew()
  }

  load() {
    return this.#connections.load()
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  /**
   * While the store is being opened, only conflicts are retried, and other errors are reported at once.
   * @param outcome of the last attempt; undefined if there was no connection. @param failures of all attempts.
   */
  #isToRepeat(
    outcome: FailureOutcome | undefined,
    failures: { readonly conflict: number; readonly lost: number },
    { kind = 'write', isRepeatable = true, isConflictRepeated = true }: RunOptions,
  ): boolean {
    if (outcome === undefined) return this.#isOpened
    if (!isRepeatable) return false
    if (outcome === 'conflict') return isConflictRepeated && failures.conflict < ATTEMPTS
    if (!this.#isOpened) return false
    if (outcome === 'lost') return kind !== 'write' && failures.lost <= LOST_ATTEMPTS
    // `late` with time left: the clock of the server has been set. A new connection compares the clocks again.
    return outcome === 'moved' || outcome === 'late'
  }

  #failure(error: unknown, kind: Kind): unknown {
    const meaning = this.#driver.meaningOf(causeOf(error))
    const { reason, outcome } = meaning
    if (error instanceof NotConnected) {
      return new StoreUnavailable('no connection to the database server could be made', {
        cause: error.cause,
        reason: 'connection',
        nothingWritten: true,
      })
    }
    if (reason === undefined) return error
    if (outcome === 'late') {
      const message = 'the write reached the database server after its deadline, and was not stored'
      return new StoreUnavailable(message, { reason, nothingWritten: true })
    }
    const nothingWritten = kind !== 'write' || isUndone(meaning)
    return new StoreUnavailable('the database server failed', { cause: error, reason, nothingWritten })
  }

  /** @param time the time of all attempts, for messages. @param cause why the last attempt failed. */
  async #attempt<Result>(
    work: (connection: Connection, end: number) => Promise<Result>,
    end: number,
    time: number,
    cause: unknown,
    { kind = 'write', client = '', signal }: RunOptions,
  ): Promise<Result> {
    signal?.throwIfAborted()
    const user: User = { kind, client }
    const begin = Date.now()
    let isConnected = false
    const late = () =>
      isConnected ? notAnswered(time, kind === 'write', cause) : this.notConnected(time, cause)
    const deadline = startDeadline(end - begin, late, signal)
    try {
      const connection = await this.#connections.acquire(user, deadline.passed)
      isConnected = true
      try {
        const result = await Promise.race([work(connection, end), deadline.passed])
        this.#connections.release(connection, user)
        return result
      } catch (error) {
        if (!deadline.isPassed()) this.#takeBack(connection, user, begin, error)
        else {
          // The server did not answer, so connections that have been idle since then may be dead too.
          if (!signal?.aborted) this.#connections.discardIdle(begin)
          this.#connections.cancel(connection, user)
        }
        throw error
      }
    } finally {
      deadline.clear()
    }
  }

  /** Takes back a connection on which work has failed. @param begin when the work began, as `Date.now()`. */
  #takeBack(connection: Connection, user: User, begin: number, error: unknown): void {
    const { outcome } = this.#driver.meaningOf(error)
    if (outcome === 'refused' || outcome === 'conflict') {
      this.#connections.reset(connection, user)
      return
    }
    if (outcome === 'lost') this.#connections.discardIdle(begin)
    if (outcome === 'moved' || outcome === 'late') this.#connections.renew()
    this.#connections.discard(connection, user)
  }
}

const causeOf = (error: unknown) => (error instanceof NotConnected ? error.cause : error)

/** The error for work that has not ended in time. @param time in milliseconds. */
export function notAnswered(time: number, isWrite: boolean, cause?: unknown): StoreUnavailable {
  const consequence = isWrite ? ', and it is not known whether the write was stored' : ''
  const message = `the database server did not answer within ${seconds(time)}${consequence}`
  return new StoreUnavailable(message, { cause, reason: 'timeout', nothingWritten: !isWrite })
}

/** @param milliseconds less than 0 if the time was over before the work began, because the process stood still. */
const seconds = (milliseconds: number) => `${Math.round(Math.max(0, milliseconds) / 100) / 10} seconds`
