import timers from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { startDeadline, withTimeout } from '../timeout.ts'
import type { Driver } from './driver.ts'

/** How long to wait for the server to cancel a statement, in milliseconds. */
const CANCEL_TIME = 1000

/** How long to wait for the server when closing a connection, in milliseconds. */
const END_TIME = 4000

/** How many callers may wait for a connection. Any more are refused at once. */
const MAX_WAITING = 5000

/**
 * A connection that was idle for longer is not used again, because a firewall may have dropped it; milliseconds.
 */
const MAX_IDLE_TIME = 60_000

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

/**
 * After a failed attempt to connect, how long to wait before the next, in milliseconds. Meanwhile requests share the
 * existing connections.
 */
const CONNECT_PAUSE = 100

/** The time between two replacements of all connections, in milliseconds. */
const RENEW_PAUSE = 1000

/** How often a read is repeated whose connection was lost: it may be the cause. */
const LOST_ATTEMPTS = 3

/** The time between two attempts to prepare the database again, in milliseconds. */
const PREPARE_PAUSE = 1000

/** The share of the connections that writes leave to reads, if there are three or more. */
const KEPT_FOR_READS = 1 / 4

/** By how much the ages of connections differ when they end, so that not all are replaced at the same time. */
const AGE_SPREAD = 0.2

export interface PoolOptions {
  /** The maximum number of connections. */
  readonly size: number
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
  /** How old a connection may become, in milliseconds. */
  readonly maxAge: number
}

export interface RunOptions {
  /** The time for everything: waiting, connecting, working and trying again; milliseconds. */
  readonly time?: number
  /** What the work does with the data. Reads may be repeated after a lost connection, and have connections of their own. */
  readonly kind?: 'read' | 'write'
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

interface Waiting<Connection> {
  readonly isWrite: boolean
  resolve(connection: Connection): void
  reject(error: unknown): void
}

/** No connection could be made. `cause` is the error of the driver. */
class NotConnected extends Error {}

/**
 * Connections to one database server. Each is used by one caller at a time. A connection on which anything failed, or
 * that was used beyond the deadline, is destroyed and never used again. (The pools of the drivers lack a deadline for
 * waiting or for the whole use.)
 */
export class ConnectionPool<Connection> {
  /** How long an operation may take, in milliseconds. */
  readonly timeout: number
  readonly #driver: Driver<Connection>
  readonly #size: number
  readonly #maxWrites: number
  readonly #maxAge: number
  /** How many connections are open or being opened, and how many of these are for writes. */
  #open = 0
  #writes = 0
  /** The connections that can still be used, as far as is known, and when each becomes too old. */
  readonly #alive = new Map<Connection, number>()
  /** The most recently used is the last one. */
  #idle: { readonly connection: Connection; readonly since: number }[] = []
  readonly #waiting = new Set<Waiting<Connection>>()
  #closed: { readonly promise: Promise<void>; resolve(): void } | undefined
  /** Why the last connection could not be made. No other is made until the timer ends. */
  #connectError: unknown
  #connectTimer: NodeJS.Timeout | undefined
  /** When all connections were last replaced. */
  #renewedAt = Number.NEGATIVE_INFINITY
  /** Prepares the database again. Undefined while the store is being opened. */
  #prepare: (() => Promise<unknown>) | undefined
  #preparing: Promise<unknown> | undefined
  /** When it may be prepared again. */
  #prepareAt = 0

  constructor(driver: Driver<Connection>, { size, timeout, maxAge }: PoolOptions) {
    this.timeout = timeout
    this.#driver = driver
    this.#size = size
    this.#maxWrites = size < 3 ? size : size - Math.ceil(size * KEPT_FOR_READS)
    this.#maxAge = maxAge
  }

  /**
   * To be called once the database is prepared. From now on, any failure to connect counts as one that may pass.
   * @param prepare prepares the database again, if it was replaced by an empty one.
   */
  opened(prepare: () => Promise<unknown>): void {
    this.#prepare = prepare
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
      try {
        return await this.#attempt(work, end, time, cause, options)
      } catch (error) {
        options.signal?.throwIfAborted()
        if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) throw error
        cause = error instanceof NotConnected ? error.cause : error
        if (cause === error && this.#driver.errors.isLost(error)) losses++
        const pause = Math.min(PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE) * Math.random()
        const isRepeated = await this.#isToRepeat(error, { attempt, losses }, end, options)
        // With too little time, it would not be known of the next attempt what became of it.
        if (!isRepeated || Date.now() + pause + LEAST_TIME >= end) throw this.#failure(error, options)
        await timers.setTimeout(pause)
        if (this.#closed !== undefined) throw this.#failure(error, options)
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
    // Others find the same fault, some of them on new connections: these need not be made again for each.
    if (Date.now() < this.#renewedAt + RENEW_PAUSE) return
    this.#renewedAt = Date.now()
    // Those in use are destroyed when their work is done, as if they were lost.
    this.#alive.clear()
    for (const { connection } of this.#idle.splice(0)) this.#discard(connection)
  }

  load() {
    return {
      connections_used: this.#open - this.#idle.length,
      connections_idle: this.#idle.length,
      requests_waiting: this.#waiting.size,
    }
  }

  /** Ends all connections, those in use when their work is done. */
  async close(): Promise<void> {
    this.#closed = Promise.withResolvers()
    for (const { connection } of this.#idle.splice(0)) this.#retire(connection)
    if (this.#open > 0) await this.#closed.promise
  }

  /** @returns whether to repeat the work that failed with this error. Does first what it needs to succeed. */
  async #isToRepeat(
    error: unknown,
    { attempt, losses }: { readonly attempt: number; readonly losses: number },
    end: number,
    { kind, isRepeatable = true, attempts = ATTEMPTS }: RunOptions,
  ): Promise<boolean> {
    const { errors } = this.#driver
    // While the store is being opened, the operator is told why at once.
    if (error instanceof NotConnected) return this.#prepare !== undefined
    if (!isRepeatable) return false
    if (errors.isRolledBack(error)) return attempt < attempts
    if (this.#prepare === undefined) return false
    if (errors.isMissingTable(error)) return await this.#prepareAgain(end)
    if (errors.isRoleChange(error)) {
      this.renew()
      return true
    }
    return kind === 'read' && errors.isLost(error) && losses <= LOST_ATTEMPTS
  }

  #failure(error: unknown, { kind }: RunOptions): unknown {
    const { errors } = this.#driver
    if (error instanceof NotConnected) {
      if (this.#prepare === undefined && !errors.isUnavailable(error.cause)) return error.cause
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
      nothingWritten: kind === 'read' || errors.isRefused(error),
    })
  }

  /** @param time the time of all attempts, for messages. @param cause why the last attempt failed. */
  async #attempt<Result>(
    work: (connection: Connection, end: number) => Promise<Result>,
    end: number,
    time: number,
    cause: unknown,
    { kind, signal }: RunOptions,
  ): Promise<Result> {
    signal?.throwIfAborted()
    const begin = Date.now()
    const isWrite = kind !== 'read'
    let isConnected = false
    const late = () => {
      if (isConnected) return notAnswered(time, isWrite, cause)
      const message = `no connection to the database server was available within ${seconds(time)}`
      const why = cause ?? this.#connectError
      const reason = why === undefined ? 'timeout' : this.#driver.errors.reasonOf(why)
      return new StoreUnavailable(message, { cause: why, reason, nothingWritten: true })
    }
    const deadline = startDeadline(end - begin, late, signal)
    try {
      const connection = await this.#acquire(isWrite, deadline.passed)
      isConnected = true
      try {
        const result = await Promise.race([work(connection, end), deadline.passed])
        this.#release(connection, isWrite)
        return result
      } catch (error) {
        // The connections that have been idle since may have the same fault: dead, or read-only after a change of role.
        if (!signal?.aborted) this.#discardIdle(begin)
        if (deadline.isPassed()) this.#cancel(connection, isWrite)
        else this.#discard(connection, isWrite)
        throw error
      }
    } finally {
      deadline.clear()
    }
  }

  /** @returns whether the database has its tables now, which all wait for who miss one. */
  async #prepareAgain(end: number): Promise<boolean> {
    if (this.#preparing === undefined && Date.now() >= this.#prepareAt) {
      this.#prepareAt = Date.now() + PREPARE_PAUSE
      this.#preparing = this.#prepare?.().finally(() => {
        this.#preparing = undefined
      })
    }
    if (this.#preparing === undefined) return false
    const late = 'the tables are missing, and were not made in time'
    return withTimeout(this.#preparing, end - Date.now(), late).then(
      () => true,
      () => false,
    )
  }

  async #acquire(isWrite: boolean, passed: Promise<never>): Promise<Connection> {
    const acquiring = this.#take(isWrite) ?? this.#wait(isWrite, passed)
    try {
      return await Promise.race([acquiring, passed])
    } catch (error) {
      // A connection that still comes is for another caller.
      Promise.resolve(acquiring).then(
        (connection) => this.#release(connection, isWrite),
        () => {},
      )
      throw error
    }
  }

  /** @returns undefined if the caller has to wait. */
  #take(isWrite: boolean): Connection | Promise<Connection> | undefined {
    if (isWrite && this.#writes >= this.#maxWrites) return undefined
    const idle = this.#takeIdle()
    if (idle === undefined) return this.#mayConnect() ? this.#connect(isWrite) : undefined
    if (isWrite) this.#writes++
    return idle
  }

  #takeIdle(): Connection | undefined {
    const newest = this.#idle.pop()
    if (newest === undefined) return undefined
    if (Date.now() - newest.since <= MAX_IDLE_TIME) return newest.connection
    // The others have been idle for longer. They are destroyed and not ended, because nobody might answer.
    for (const { connection } of [newest, ...this.#idle.splice(0)]) this.#discard(connection)
    return undefined
  }

  #mayConnect(): boolean {
    return this.#open < this.#size && this.#connectTimer === undefined && this.#closed === undefined
  }

  async #connect(isWrite: boolean): Promise<Connection> {
    this.#open++
    if (isWrite) this.#writes++
    try {
      const connection = await this.#driver.connect()
      this.#connectError = undefined
      this.#alive.set(connection, Date.now() + this.#maxAge * (1 - AGE_SPREAD * Math.random()))
      this.#driver.onLost(connection, () => this.#forget(connection))
      return connection
    } catch (cause) {
      this.#connectError = cause
      this.#connectTimer ??= setTimeout(() => {
        this.#connectTimer = undefined
        this.#serveWaiting()
      }, CONNECT_PAUSE)
      this.#closeOne(isWrite)
      throw new NotConnected('no connection could be made', { cause })
    }
  }

  async #wait(isWrite: boolean, passed: Promise<never>): Promise<Connection> {
    if (this.#waiting.size >= MAX_WAITING)
      throw new StoreUnavailable('too many requests wait for a connection', {
        reason: 'overload',
        nothingWritten: true,
      })
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const waiting = { isWrite, resolve, reject }
    this.#waiting.add(waiting)
    passed.catch(() => this.#waiting.delete(waiting))
    return promise
  }

  #release(connection: Connection, isWrite: boolean): void {
    const oldAt = this.#alive.get(connection)
    if (oldAt === undefined) this.#discard(connection, isWrite)
    else if (Date.now() >= oldAt) this.#retire(connection, isWrite)
    else {
      if (isWrite) this.#writes--
      this.#offer(connection)
    }
  }

  #offer(connection: Connection): void {
    const next = this.#nextWaiting()
    if (next !== undefined) {
      if (next.isWrite) this.#writes++
      next.resolve(connection)
    } else if (this.#closed !== undefined) this.#retire(connection)
    else this.#idle.push({ connection, since: Date.now() })
  }

  #discardIdle(before: number): void {
    const old = this.#idle.filter(({ since }) => since < before)
    this.#idle = this.#idle.filter(({ since }) => since >= before)
    for (const { connection } of old) this.#discard(connection)
  }

  /** Ends a connection on which the server has not answered. What was not sent yet never will be. */
  #cancel(connection: Connection, isWrite: boolean): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    // Its place is free only then: otherwise the server would have ever more connections that it is busy with.
    withTimeout(
      this.#driver.cancel(connection),
      CANCEL_TIME,
      'the server did not cancel the statement in time',
    )
      .catch(() => {})
      .finally(() => this.#closeOne(isWrite))
  }

  #discard(connection: Connection, isWrite = false): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    this.#closeOne(isWrite)
  }

  #retire(connection: Connection, isWrite = false): void {
    this.#alive.delete(connection)
    // A server that does not answer must not delay closing.
    withTimeout(this.#driver.end(connection), END_TIME, 'the connection did not end in time')
      .catch(() => this.#driver.destroy(connection))
      .finally(() => this.#closeOne(isWrite))
  }

  /** Removes a lost connection if it is idle. The work on one in use fails by itself, or has just been done. */
  #forget(connection: Connection): void {
    this.#alive.delete(connection)
    const index = this.#idle.findIndex((idle) => idle.connection === connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.#discard(connection)
  }

  #closeOne(isWrite: boolean): void {
    this.#open--
    if (isWrite) this.#writes--
    this.#serveWaiting()
    if (this.#open === 0) this.#closed?.resolve()
  }

  /** Makes connections for those that wait. */
  #serveWaiting(): void {
    while (this.#mayConnect()) {
      const next = this.#nextWaiting()
      if (next === undefined) return
      this.#connect(next.isWrite).then(next.resolve, next.reject)
    }
  }

  #nextWaiting(): Waiting<Connection> | undefined {
    const isFull = this.#writes >= this.#maxWrites
    for (const waiting of this.#waiting) {
      if (waiting.isWrite && isFull) continue
      this.#waiting.delete(waiting)
      return waiting
    }
    return undefined
  }
}

/** The error for work that has not ended after this many milliseconds. */
export function notAnswered(time: number, isWrite: boolean, cause?: unknown): StoreUnavailable {
  const consequence = isWrite ? ', and it is not known whether the write was stored' : ''
  const message = `the database server did not answer within ${seconds(time)}${consequence}`
  return new StoreUnavailable(message, { cause, reason: 'timeout', nothingWritten: !isWrite })
}

const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} seconds`
