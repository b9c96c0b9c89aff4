import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { startDeadline } from '../timeout.ts'
import type { Kind, User } from './connection-share.ts'
import { type ConnectionLimits, Connections, NotConnected } from './connections.ts'
import type { Driver } from './driver.ts'
import { Preparation, tablesMissing } from './preparation.ts'

/** How often work is tried that the server rolls back because of a conflict. */
const ATTEMPTS = 5

/**
 * The longest time before work is tried again for the first time, in milliseconds. It doubles with each further time,
 * and is random, because others try again too.
 */
const PAUSE = 50

/** The longest time before work is tried again, in milliseconds. */
const LONGEST_PAUSE = 400

/** The least time in which work is tried again, in milliseconds. */
const LEAST_TIME = 100

/** How often a read is repeated whose connection was lost: it may be the cause. */
const LOST_ATTEMPTS = 3

export interface PoolOptions extends ConnectionLimits {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
}

export interface RunOptions {
  /** Whether the work prepares the database, so that it cannot wait until that is done. */
  readonly isPreparing?: boolean
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

/**
 * Work on the connections to one database server, within a deadline. It is done again where that is safe. A connection
 * on which anything failed, or that was used beyond the deadline, is destroyed and never used again.
 */
export class ConnectionPool<Connection> {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
  readonly #driver: Driver<Connection>
  readonly #connections: Connections<Connection>
  /** Undefined while the store is being opened. */
  #preparation: Preparation | undefined

  constructor(driver: Driver<Connection>, { timeout, ...limits }: PoolOptions) {
    this.timeout = timeout
    this.#driver = driver
    this.#connections = new Connections(driver, limits)
  }

  /**
   * To be called once the database is prepared. From now on, any failure to connect counts as one that may pass.
   * @param prepare prepares the database again, if it was replaced by an empty one. It throws StoreNotOpened if the
   * database must not be prepared. Any other error may pass.
   */
  opened(prepare: (runner: Runner<Connection>) => Promise<unknown>): void {
    const runner: Runner<Connection> = {
      run: (work, options) => this.run(work, { ...options, isPreparing: true }),
    }
    this.#preparation = new Preparation(
      () => prepare(runner),
      () => this.#connections.isClosed,
    )
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
    let cause: unknown
    let losses = 0
    for (let attempt = 1; ; attempt++) {
      const preparations = this.#preparation?.count ?? 0
      try {
        return await this.#attempt(work, end, time, cause, options)
      } catch (error) {
        options.signal?.throwIfAborted()
        if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) throw error
        cause = error instanceof NotConnected ? error.cause : error
        if (cause === error && this.#driver.errors.isLost(error)) losses++
        const pause = Math.min(PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE) * Math.random()
        const isRepeated = await this.#isToRepeat(error, { attempt, losses, preparations }, end, options)
        if (!isRepeated) throw this.#failure(error, options)
        // With too little time, it would not be known of the next attempt what became of it.
        if (Date.now() + pause + LEAST_TIME >= end) throw this.#lateFailure(error, options)
        await timers.setTimeout(pause)
        if (this.#connections.isClosed) throw this.#lateFailure(error, options)
      }
    }
  }

  /** Whether work that failed with this error has certainly not been done by the server. */
  hasDoneNothing(error: unknown): boolean {
    return error instanceof StoreUnavailable ? error.nothingWritten : this.#driver.errors.isRefused(error)
  }

  /** Whether the server does not know the statement that failed with this error. */
  isUnknownSyntax(error: unknown): boolean {
    return this.#driver.errors.isUnknownSyntax(error)
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

  /** @returns whether to repeat the work that failed with this error. Does first what it needs to succeed. */
  async #isToRepeat(
    error: unknown,
    { attempt, losses, preparations }: Readonly<Record<'attempt' | 'losses' | 'preparations', number>>,
    end: number,
    { kind = 'write', isRepeatable = true, isPreparing = false, attempts = ATTEMPTS }: RunOptions,
  ): Promise<boolean> {
    const { errors } = this.#driver
    // While the store is being opened, the operator is told why at once.
    if (error instanceof NotConnected) return this.#preparation !== undefined
    if (!isRepeatable) return false
    if (errors.isRolledBack(error)) return attempt < attempts
    if (this.#preparation === undefined) return false
    if (errors.isMissingTable(error)) return !isPreparing && (await this.#preparation.wait(preparations, end))
    if (errors.isRoleChange(error)) {
      this.renew()
      return true
    }
    return kind !== 'write' && errors.isLost(error) && losses <= LOST_ATTEMPTS
  }

  /** The error for work that would be done again if there was time. */
  #lateFailure(error: unknown, options: RunOptions): unknown {
    return this.#driver.errors.isMissingTable(error) ? tablesMissing(error) : this.#failure(error, options)
  }

  #failure(error: unknown, { kind = 'write' }: RunOptions): unknown {
    const { errors } = this.#driver
    if (error instanceof NotConnected) {
      if (this.#preparation === undefined && !errors.isUnavailable(error.cause)) return error.cause
      return new StoreUnavailable('no connection to the database server could be made', {
        cause: error.cause,
        reason: 'connection',
        nothingWritten: true,
      })
    }
    if (errors.isExpired(error)) {
      const message = 'the write reached the database server after its deadline, and was not stored'
      return new StoreUnavailable(message, { reason: 'timeout', nothingWritten: true })
    }
    if (!errors.isUnavailable(error)) return error
    return new StoreUnavailable('the database server failed', {
      cause: error,
      reason: errors.reasonOf(error),
      nothingWritten: kind !== 'write' || errors.isRefused(error),
    })
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
      const reason = why === undefined ? 'timeout' : this.#driver.errors.reasonOf(why)
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
        // The connections that have been idle since may have the same fault: dead, or read-only after a change of role.
        if (!signal?.aborted) this.#connections.discardIdle(begin)
        if (deadline.isPassed()) this.#connections.cancel(connection, user)
        else this.#connections.discard(connection, user)
        throw error
      }
    } finally {
      deadline.clear()
    }
  }
}

/** The error for work that has not ended after this many milliseconds. */
export function notAnswered(time: number, isWrite: boolean, cause?: unknown): StoreUnavailable {
  const consequence = isWrite ? ', and it is not known whether the write was stored' : ''
  const message = `the database server did not answer within ${seconds(time)}${consequence}`
  return new StoreUnavailable(message, { cause, reason: 'timeout', nothingWritten: !isWrite })
}

/** @param milliseconds less than 0 if the time was over before the work began, as after a pause of the process. */
const seconds = (milliseconds: number) => `${Math.round(Math.max(0, milliseconds) / 100) / 10} seconds`
