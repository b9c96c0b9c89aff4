import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { DEADLINE, startDeadline, withTimeout } from '../timeout.ts'
import type { Driver } from './driver.ts'

/** How long to wait for the server to cancel a statement, in milliseconds. */
const CANCEL_TIME = 1000

/** How many callers may wait for a connection. Any more are refused at once. */
const MAX_WAITING = 5000

/**
 * A connection that was idle for longer is not used again, because a firewall may have dropped it; milliseconds.
 */
const MAX_IDLE_TIME = 60_000

/** How often work is tried that the server rolls back. */
const ATTEMPTS = 5

export interface RunOptions {
  /** The time for everything: waiting, connecting, working and trying again; milliseconds. */
  readonly time?: number
  /** The message of the error when the work is not done by then. */
  readonly late?: string
  /** How often the work may be tried; 1 if it must not be repeated. */
  readonly attempts?: number
  /** Aborts the work. */
  readonly signal?: AbortSignal | undefined
}

/** Does work on a connection of a store. */
export type RunOn<Connection> = <Result>(work: (connection: Connection) => Promise<Result>) => Promise<Result>

interface Waiting<Connection> {
  resolve(connection: Connection): void
  reject(error: unknown): void
}

/**
 * Connections to one database server. Each is used by one caller at a time. A connection on which anything failed, or
 * that was used beyond the deadline, is destroyed and never used again. (The pools of the drivers lack a deadline for
 * waiting or for the whole use.)
 */
export class ConnectionPool<Connection> {
  readonly #driver: Driver<Connection>
  readonly #size: number
  /** How many connections are open or being opened. */
  #open = 0
  /** The connections that can still be used, as far as is known. */
  readonly #alive = new Set<Connection>()
  /** The most recently used is the last one. */
  #idle: { readonly connection: Connection; readonly since: number }[] = []
  readonly #waiting = new Set<Waiting<Connection>>()
  #closed: { readonly promise: Promise<void>; resolve(): void } | undefined

  /** @param size the maximum number of connections. */
  constructor(driver: Driver<Connection>, size: number) {
    this.#driver = driver
    this.#size = size
  }

  /**
   * Does the work on a connection. Repeats it where the server has certainly not done it.
   * @throws StoreUnavailable after the deadline, when too many wait, and for errors that may pass; the reason of the
   * signal; else what connecting or the work throws.
   */
  async run<Result>(
    work: (connection: Connection) => Promise<Result>,
    { time = DEADLINE, attempts = ATTEMPTS, ...options }: RunOptions = {},
  ): Promise<Result> {
    const { errors } = this.#driver
    const end = Date.now() + time
    let isRenewed = false
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(work, end - Date.now(), options)
      } catch (error) {
        options.signal?.throwIfAborted()
        if (error instanceof StoreUnavailable || error instanceof StoreNotOpened) throw error
        if (attempt < attempts && errors.isRolledBack(error)) continue
        if (attempt < attempts && errors.isReadOnly(error) && !isRenewed) {
          // The server has changed its role since this connection was made, and perhaps since the others were.
          this.#renew()
          isRenewed = true
          continue
        }
        if (errors.isUnavailable(error))
          throw new StoreUnavailable('the database server failed', { cause: error })
        throw error
      }
    }
  }

  /** Whether work that failed with this error has certainly not been done by the server. */
  hasDoneNothing(error: unknown): boolean {
    return this.#driver.errors.isRefused(error instanceof StoreUnavailable ? error.cause : error)
  }

  /** Whether the server does not know the statement that failed with this error. */
  isUnknownSyntax(error: unknown): boolean {
    return this.#driver.errors.isUnknownSyntax(error)
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

  async #attempt<Result>(
    work: (connection: Connection) => Promise<Result>,
    time: number,
    { late = `the database server did not answer within ${seconds(time)}`, signal }: RunOptions,
  ): Promise<Result> {
    signal?.throwIfAborted()
    const begin = Date.now()
    let message = `no connection to the database server was available within ${seconds(time)}`
    const deadline = startDeadline(time, () => message, signal)
    try {
      const connection = await this.#acquire(deadline.passed)
      message = late
      try {
        const result = await Promise.race([work(connection), deadline.passed])
        this.#release(connection)
        return result
      } catch (error) {
        // The connections that have been idle since may have the same fault: dead, or read-only after a change of role.
        if (!signal?.aborted) this.#discardIdle(begin)
        if (deadline.isPassed()) this.#cancel(connection)
        else this.#discard(connection)
        throw error
      }
    } finally {
      deadline.clear()
    }
  }

  /** Work that begins from now on gets new connections. */
  #renew(): void {
    // Those in use are destroyed when their work is done, as if they were lost.
    this.#alive.clear()
    for (const { connection } of this.#idle.splice(0)) this.#discard(connection)
  }

  async #acquire(passed: Promise<never>): Promise<Connection> {
    const acquiring = this.#takeIdle() ?? (this.#open < this.#size ? this.#connect() : this.#wait(passed))
    try {
      return await Promise.race([acquiring, passed])
    } catch (error) {
      // A connection that still comes is for another caller.
      Promise.resolve(acquiring).then(
        (connection) => this.#release(connection),
        () => {},
      )
      throw error
    }
  }

  #takeIdle(): Connection | undefined {
    const newest = this.#idle.pop()
    if (newest === undefined) return undefined
    if (Date.now() - newest.since <= MAX_IDLE_TIME) return newest.connection
    // The others have been idle for longer. They are destroyed and not ended, because nobody might answer.
    for (const { connection } of [newest, ...this.#idle.splice(0)]) this.#discard(connection)
    return undefined
  }

  async #connect(): Promise<Connection> {
    this.#open++
    try {
      const connection = await this.#driver.connect()
      this.#alive.add(connection)
      this.#driver.onLost(connection, () => this.#forget(connection))
      return connection
    } catch (error) {
      this.#closeOne()
      throw error
    }
  }

  async #wait(passed: Promise<never>): Promise<Connection> {
    if (this.#waiting.size >= MAX_WAITING)
      throw new StoreUnavailable('too many requests wait for a connection')
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const waiting = { resolve, reject }
    this.#waiting.add(waiting)
    passed.catch(() => this.#waiting.delete(waiting))
    return promise
  }

  #release(connection: Connection): void {
    const isAlive = this.#alive.has(connection)
    const next = isAlive ? this.#nextWaiting() : undefined
    if (!isAlive) this.#discard(connection)
    else if (next !== undefined) next.resolve(connection)
    else if (this.#closed !== undefined) this.#retire(connection)
    else this.#idle.push({ connection, since: Date.now() })
  }

  #discardIdle(before: number): void {
    const old = this.#idle.filter(({ since }) => since < before)
    this.#idle = this.#idle.filter(({ since }) => since >= before)
    for (const { connection } of old) this.#discard(connection)
  }

  /** Ends a connection on which the server has not answered. */
  #cancel(connection: Connection): void {
    withTimeout(
      this.#driver.cancel(connection),
      CANCEL_TIME,
      'the server did not cancel the statement in time',
    )
      .catch(() => {})
      .finally(() => this.#discard(connection))
  }

  #discard(connection: Connection): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    this.#closeOne()
  }

  #retire(connection: Connection): void {
    this.#alive.delete(connection)
    // A server that does not answer must not delay closing.
    withTimeout(this.#driver.end(connection), DEADLINE, 'the connection did not end in time')
      .catch(() => this.#driver.destroy(connection))
      .finally(() => this.#closeOne())
  }

  /** Removes a lost connection if it is idle. The work on one in use fails by itself, or has just been done. */
  #forget(connection: Connection): void {
    this.#alive.delete(connection)
    const index = this.#idle.findIndex((idle) => idle.connection === connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.#discard(connection)
  }

  #closeOne(): void {
    this.#open--
    const next = this.#nextWaiting()
    if (next !== undefined) this.#connect().then(next.resolve, next.reject)
    else if (this.#open === 0) this.#closed?.resolve()
  }

  #nextWaiting(): Waiting<Connection> | undefined {
    const [next] = this.#waiting
    if (next !== undefined) this.#waiting.delete(next)
    return next
  }
}

const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} seconds`
