import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { startDeadline } from '../timeout.ts'
import type { Kind, User } from './connection-share.ts'
import { type ConnectionLimits, Connections, type Driver, NotConnected } from './connections.ts'
import { isUndone } from './errors.ts'
import { ATTEMPTS, withRetries } from './retry.ts'

export interface PoolOptions extends ConnectionLimits {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
}

export interface RunOptions {
  /** The time for everything: waiting, connecting, working and trying again; milliseconds. */
  readonly time?: number
  /** By default a write. Anything else may be repeated after a lost connection. */
  readonly kind?: Kind
  /** Who asks: the clients take turns. */
  readonly client?: string | undefined
  /** Whether the work may be done again if the server has certainly not done it. */
  readonly isRepeatable?: boolean
  /** How often work is tried that the server rolls back because of a conflict. */
  readonly attempts?: number
  /** Aborts the work. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Does work on a connection of a store.
 * @param work is called again if it has to be done again. `end` is when its time is over, as `Date.now()`.
 */
export type RunOn<Connection> = <Result>(
  work: (connection: Connection, end: number) => Promise<Result>,
) => Promise<Result>

/** What prepares a database does its work with this. */
export type Runner<Connection> = Pick<ConnectionPool<Connection>, 'run'>

/** Work on the connections to one database server, within a deadline. It is done again where that is safe. */
export class ConnectionPool<Connection> {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
  readonly #driver: Driver<Connection>
  readonly #connections: Connections<Connection>
  /** Whether the store is open. */
  #isOpened = false

  constructor(driver: Driver<Connection>, { timeout, ...limits }: PoolOptions) {
    this.timeout = timeout
    this.#driver = driver
    this.#connections = new Connections(driver, limits)
  }

  /** To be called once the database is prepared. From now on, any failure to connect counts as one that may pass. */
  opened(): void {
    this.#isOpened = true
  }

  /**
   * Does the work on a connection. Repeats it where the server has certainly not done it, and reads also after a
   * connection was lost.
   * @throws StoreUnavailable after the deadline, when too many wait, and for errors that may pass; the reason of the
   * signal; else what connecting or the work throws.
   */
  async run<Result>(
    work: (connection: Connection, end: number) => Promise<Result>,
    { time = this.timeout, ...options }: RunOptions = {},
  ): Promise<Result> {
    const end = Date.now() + time
    const { kind = 'write', isRepeatable = true, attempts = ATTEMPTS, signal } = options
    try {
      return await withRetries((cause) => this.#attempt(work, end, time, causeOf(cause), options), {
        outcomeOf: (error) =>
          error instanceof NotConnected ? undefined : this.#driver.meaningOf(error).outcome,
        isWrite: kind === 'write',
        isRepeatable,
        attempts,
        isOpened: this.#isOpened,
        end,
        signal,
        isClosed: () => this.#connections.isClosed,
      })
    } catch (error) {
      throw signal?.aborted ? error : this.#failure(error, kind)
    }
  }

  /** Whether work that failed with this error has certainly not been done by the server. */
  hasDoneNothing(error: unknown): boolean {
    return error instanceof StoreUnavailable ? error.nothingWritten : isUndone(this.#driver.meaningOf(error))
  }

  /** Whether the server does not know the statement that failed with this error. */
  isUnknownSyntax(error: unknown): boolean {
    return this.#driver.meaningOf(error).isUnknownSyntax === true
  }

  /** Work that begins from now on gets new connections, unless all were replaced a moment ago. */
  renew(): void {
    this.#connections.renew()
  }

  load() {
    return this.#connections.load()
  }

  /** Ends all connections, those in use when their work is done. */
  close(): Promise<void> {
    return this.#connections.close()
  }

  /** @returns the error for the caller. */
  #failure(error: unknown, kind: Kind): unknown {
    if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) return error
    const meaning = this.#driver.meaningOf(causeOf(error))
    const { reason, outcome } = meaning
    if (error instanceof NotConnected) {
      if (!this.#isOpened && reason === undefined) return error.cause
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
    const late = () => {
      if (isConnected) return notAnswered(time, kind === 'write', cause)
      const message = `no connection to the database server was available within ${seconds(time)}`
      const why = cause ?? this.#connections.connectError
      const reason = why === undefined ? 'timeout' : (this.#driver.meaningOf(why).reason ?? 'other')
      return new StoreUnavailable(message, { cause: why, reason, nothingWritten: true })
    }
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
          // The server did not answer, so the connections that have been idle since may be dead too.
          if (!signal?.aborted) this.#connections.discardIdle(begin)
          this.#connections.cancel(connection, user)
        }
        throw error
      }
    } finally {
      deadline.clear()
    }
  }

  /** Takes back a connection on which work failed that had begun at this time of `Date.now()`. */
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

/** What the driver reports. */
const causeOf = (error: unknown) => (error instanceof NotConnected ? error.cause : error)

/** The error for work that has not ended after this many milliseconds. */
export function notAnswered(time: number, isWrite: boolean, cause?: unknown): StoreUnavailable {
  const consequence = isWrite ? ', and it is not known whether the write was stored' : ''
  const message = `the database server did not answer within ${seconds(time)}${consequence}`
  return new StoreUnavailable(message, { cause, reason: 'timeout', nothingWritten: !isWrite })
}

/** @param milliseconds less than 0 if the time was over before the work began, as after a pause of the process. */
const seconds = (milliseconds: number) => `${Math.round(Math.max(0, milliseconds) / 100) / 10} seconds`
