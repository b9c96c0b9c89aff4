import { StoreUnavailable } from '../../catalogue/store.ts'

/** The time that one use of a connection may take in all: waiting, connecting and working; milliseconds. */
export const DEADLINE = 4000

/** The part of it that connecting may take, so that what is wrong is found out rather than just late. */
export const CONNECT_TIME = 3000

/** The time to tell a server to stop what it is doing, in milliseconds. */
const CANCEL_TIME = 1000

/** Uses that may wait for a connection: more are turned away at once. */
const MAX_WAITING = 5000

/** A connection that was idle for as long is not used again: something on the way may have dropped it; milliseconds. */
const MAX_IDLE_TIME = 60_000

/** What the pool needs to know of a database's connections. */
export interface Driver<Connection> {
  /** Connects within CONNECT_TIME. */
  connect(): Promise<Connection>
  /** Sets what to call when the connection ends by itself. */
  onLost(connection: Connection, callback: () => void): void
  /**
   * Tells the server to stop what it is doing on a connection that is about to be destroyed. Many do not notice on
   * their own that nobody waits for it, and go on: they would have ever more connections.
   */
  cancel(connection: Connection): Promise<void>
  /** Cuts the connection at once, whatever it is doing. */
  destroy(connection: Connection): void
  /** Ends an idle connection in the way of its protocol. */
  end(connection: Connection): Promise<void>
}

export interface UseOptions {
  /** The time that waiting, connecting and working may take in all, in milliseconds. */
  readonly time?: number
  /** The message when the work is not done by then. */
  readonly late?: string
  /** Gives the use up, as if its time were over. */
  readonly signal?: AbortSignal | undefined
}

interface Waiting<Connection> {
  resolve(connection: Connection): void
  reject(error: unknown): void
}

/**
 * Connections to one database server, used by one caller each. Every use has a deadline; a connection that passed
 * it, or on which anything failed, is thrown away, never put back. (The pools of the drivers differ in what they
 * bound: one has no deadline for waiting, the other none for all of a use.)
 */
export class ConnectionPool<Connection> {
  readonly #driver: Driver<Connection>
  readonly #size: number
  /** Connections that are there or under way. */
  #open = 0
  /** Those that can still be used, as far as is known. */
  readonly #alive = new Set<Connection>()
  /** The most recently used last. */
  #idle: { readonly connection: Connection; readonly since: number }[] = []
  readonly #waiting = new Set<Waiting<Connection>>()
  #closed: { readonly promise: Promise<void>; resolve(): void } | undefined

  /** @param size connections at most. */
  constructor(driver: Driver<Connection>, size: number) {
    this.#driver = driver
    this.#size = size
  }

  /**
   * Does the work on a connection of its own.
   * @throws StoreUnavailable after the deadline, or at once when too many wait; the reason of the signal; else what
   * connecting or the work throws.
   */
  async use<Result>(
    work: (connection: Connection) => Promise<Result>,
    {
      time = DEADLINE,
      late = `the database server did not answer within ${seconds(time)}`,
      signal,
    }: UseOptions = {},
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
        // The same may be wrong with those that were idle since: dead, or read-only since the server's role changed.
        if (!signal?.aborted) this.#discardIdle(begin)
        if (deadline.isPassed()) this.#cancel(connection)
        else this.#discard(connection)
        throw error
      }
    } finally {
      deadline.clear()
    }
  }

  /** Uses that begin from now on get new connections, as when the server has changed its role. */
  renew(): void {
    // Those in use are destroyed when their work is done, as if they had been lost.
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

  async #acquire(passed: Promise<never>): Promise<Connection> {
    const acquiring = this.#takeIdle() ?? (this.#open < this.#size ? this.#connect() : this.#wait(passed))
    try {
      return await Promise.race([acquiring, passed])
    } catch (error) {
      // What is still on its way is for somebody else.
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
    // The others have been idle for longer. None can be asked to end: what dropped it would drop that too.
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
    const deadline = startDeadline(CANCEL_TIME, () => 'the server did not cancel the statement in time')
    Promise.race([this.#driver.cancel(connection), deadline.passed])
      .catch(() => {})
      .finally(() => {
        deadline.clear()
        this.#discard(connection)
      })
  }

  #discard(connection: Connection): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    this.#closeOne()
  }

  #retire(connection: Connection): void {
    this.#alive.delete(connection)
    const deadline = startDeadline(DEADLINE, () => 'the connection did not end in time')
    // A server that does not answer keeps nobody from closing.
    Promise.race([this.#driver.end(connection), deadline.passed])
      .catch(() => this.#driver.destroy(connection))
      .finally(() => {
        deadline.clear()
        this.#closeOne()
      })
  }

  /** A connection that was lost. One in use is its user's, whose work fails, or has just been done. */
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

/**
 * @param late says why the work is given up; asked when the time is over.
 * @param signal gives it up before.
 */
function startDeadline(time: number, late: () => string, signal?: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>()
  let isPassed = false
  const pass = (reason: unknown) => {
    isPassed = true
    reject(reason)
  }
  const timer = setTimeout(() => pass(new StoreUnavailable(late())), time)
  const abandon = () => pass(signal?.reason)
  signal?.addEventListener('abort', abandon)
  promise.catch(() => {})
  const clear = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
  }
  return { passed: promise, isPassed: () => isPassed, clear }
}
