import { StoreUnavailable } from '../../catalogue/store.ts'
import { withTimeout } from '../timeout.ts'
import { ConnectionShare, type Kind, type User } from './connection-share.ts'
import type { ErrorMeaning } from './errors.ts'

/** How long connecting may take, in milliseconds: by default less than an operation, so that an error names the cause. */
export const CONNECT_TIME = 3000

/** What the pool needs to know about the connections of a database. */
export interface Driver<Connection> {
  meaningOf(error: unknown): ErrorMeaning
  /** Connects within CONNECT_TIME. */
  connect(): Promise<Connection>
  /** Sets the function to call when the connection ends by itself. */
  onLost(connection: Connection, callback: () => void): void
  /**
   * Tells the server to stop what it is doing on a connection that is about to be destroyed. Many servers do not
   * notice that the client is gone, and the number of their connections would grow.
   */
  cancel(connection: Connection): Promise<void>
  /** Ends the transaction of a connection on which the server has refused something. @throws if the connection is lost. */
  reset(connection: Connection): Promise<unknown>
  /** Cuts the connection at once, whatever it is doing. */
  destroy(connection: Connection): void
  /** Ends an idle connection as its protocol wants it. */
  end(connection: Connection): Promise<void>
}

/** How long to wait for the server to cancel a statement, in milliseconds. */
const CANCEL_TIME = 1000

/** How long the server may take to end a transaction, in milliseconds. */
const RESET_TIME = 1000

/** How long to wait for the server when closing a connection, in milliseconds. */
const END_TIME = 4000

/**
 * A connection that was idle for longer is not used again, because a firewall may have dropped it; milliseconds.
 */
const MAX_IDLE_TIME = 60_000

/**
 * After a failed attempt to connect, how long to wait before the next, in milliseconds. Meanwhile requests share the
 * existing connections.
 */
const CONNECT_PAUSE = 100

/** The time between two replacements of all connections, in milliseconds. */
const RENEW_PAUSE = 1000

/** The share of the connections that writes, and pages, leave to others, if there are three or more. */
const KEPT_FOR_OTHERS = 1 / 4

/** The share of the connections that searches may have: some take a thousand times as long as other uses. */
const FOR_SEARCHES = 1 / 2

/** By how much the ages of connections differ when they end, so that not all are replaced at the same time. */
const AGE_SPREAD = 0.2

export interface ConnectionLimits {
  /** The maximum number of connections. */
  readonly size: number
  /** How old a connection may become, in milliseconds. */
  readonly maxAge: number
}

interface Waiting<Connection> extends User {
  /** Those that came before have smaller ones. */
  readonly number: number
  resolve(connection: Connection): void
  reject(error: unknown): void
}

/** No connection could be made. `cause` is the error of the driver. */
export class NotConnected extends Error {}

/**
 * Connections to one database server. Each is used by one caller at a time. (The pools of the drivers lack a deadline
 * for waiting or for the whole use, and no limits by use.) The limits do not depend on each other, so writes that hang
 * leave connections to queries, and slow searches leave some to pages and writes. The clients take turns.
 */
export class Connections<Connection> {
  readonly #driver: Driver<Connection>
  readonly #size: number
  readonly #shares: Readonly<Record<Kind, ConnectionShare<Waiting<Connection>>>>
  readonly #maxAge: number
  /** How many connections are open or being opened. */
  #open = 0
  /** The connections that can still be used, as far as is known, and when each becomes too old. */
  readonly #alive = new Map<Connection, number>()
  /** The most recently used is the last one. */
  #idle: { readonly connection: Connection; readonly since: number }[] = []
  #lastNumber = 0
  #closed: { readonly promise: Promise<void>; resolve(): void } | undefined
  #connectError: unknown
  /** No connection is made until it ends. */
  #connectTimer: NodeJS.Timeout | undefined
  /** When all connections were last replaced. */
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(driver: Driver<Connection>, { size, maxAge }: ConnectionLimits) {
    this.#driver = driver
    this.#size = size
    const most = size < 3 ? size : size - Math.ceil(size * KEPT_FOR_OTHERS)
    const searches = Math.max(1, Math.floor(size * FOR_SEARCHES))
    this.#shares = {
      read: new ConnectionShare(size),
      write: new ConnectionShare(most),
      page: new ConnectionShare(most),
      // One client leaves one of them to the others.
      search: new ConnectionShare(searches, Math.max(1, searches - 1)),
    }
    this.#maxAge = maxAge
  }

  /** Why the last connection could not be made. */
  get connectError(): unknown {
    return this.#connectError
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * Waits for a connection, which is then to be released, reset, discarded or cancelled.
   * @param passed ends the wait.
   * @throws NotConnected; StoreUnavailable when too many wait; the error of `passed`.
   */
  async acquire(user: User, passed: Promise<never>): Promise<Connection> {
    const acquiring = this.#take(user) ?? this.#wait(user, passed)
    try {
      return await Promise.race([acquiring, passed])
    } catch (error) {
      // A connection that still comes is for another caller.
      Promise.resolve(acquiring).then(
        (connection) => this.release(connection, user),
        () => {},
      )
      throw error
    }
  }

  /** Takes back a connection that can be used again. */
  release(connection: Connection, user: User): void {
    const oldAt = this.#alive.get(connection)
    if (oldAt === undefined) this.discard(connection, user)
    else if (Date.now() >= oldAt) this.#retire(connection, user)
    else {
      this.#shares[user.kind].free(user)
      this.#offer(connection)
    }
  }

  /** Destroys the connections that have been idle since before this time of `Date.now()`. */
  discardIdle(before: number): void {
    const old = this.#idle.filter(({ since }) => since < before)
    this.#idle = this.#idle.filter(({ since }) => since >= before)
    for (const { connection } of old) this.discard(connection)
  }

  /** Ends a connection on which the server has not answered. What was not sent yet never will be. */
  cancel(connection: Connection, user: User): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    // Its place is free only then: otherwise the server would have ever more connections that it is busy with.
    withTimeout(
      this.#driver.cancel(connection),
      CANCEL_TIME,
      'the server did not cancel the statement in time',
    )
      .catch(() => {})
      .finally(() => this.#closeOne(user))
  }

  /** Takes back a connection on which the server has refused something. */
  reset(connection: Connection, user: User): void {
    withTimeout(this.#driver.reset(connection), RESET_TIME, 'the transaction did not end in time').then(
      () => this.release(connection, user),
      () => this.discard(connection, user),
    )
  }

  /** Destroys a connection on which something failed. @param user undefined if it is idle. */
  discard(connection: Connection, user?: User): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    this.#closeOne(user)
  }

  /** Work that begins from now on gets new connections, unless all were replaced a moment ago. */
  renew(): void {
    // Others find the same fault, some of them on new connections: these need not be made again for each.
    if (Date.now() < this.#renewedAt + RENEW_PAUSE) return
    this.#renewedAt = Date.now()
    // Those in use are destroyed when their work is done, as if they were lost.
    this.#alive.clear()
    for (const { connection } of this.#idle.splice(0)) this.discard(connection)
  }

  load() {
    return {
      connections_used: this.#open - this.#idle.length,
      connections_idle: this.#idle.length,
      requests_waiting: Object.values(this.#shares).reduce((sum, { waiting }) => sum + waiting, 0),
    }
  }

  /** Ends all connections, those in use when their work is done. */
  async close(): Promise<void> {
    this.#closed = Promise.withResolvers()
    for (const { connection } of this.#idle.splice(0)) this.#retire(connection)
    if (this.#open > 0) await this.#closed.promise
  }

  /** @returns undefined if the caller has to wait. */
  #take(user: User): Connection | Promise<Connection> | undefined {
    if (!this.#shares[user.kind].mayUse(user)) return undefined
    const idle = this.#takeIdle()
    if (idle === undefined) return this.#mayConnect() ? this.#connect(user) : undefined
    this.#shares[user.kind].use(user)
    return idle
  }

  #takeIdle(): Connection | undefined {
    const newest = this.#idle.pop()
    if (newest === undefined) return undefined
    if (Date.now() - newest.since <= MAX_IDLE_TIME) return newest.connection
    // The others have been idle for longer. They are destroyed and not ended, because nobody might answer.
    for (const { connection } of [newest, ...this.#idle.splice(0)]) this.discard(connection)
    return undefined
  }

  #mayConnect(): boolean {
    return this.#open < this.#size && this.#connectTimer === undefined && this.#closed === undefined
  }

  async #connect(user: User): Promise<Connection> {
    this.#open++
    this.#shares[user.kind].use(user)
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
      this.#closeOne(user)
      throw new NotConnected('no connection could be made', { cause })
    }
  }

  async #wait({ kind, client }: User, passed: Promise<never>): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const waiting = { kind, client, number: ++this.#lastNumber, resolve, reject }
    const share = this.#shares[kind]
    passed.catch(() => share.leave(waiting))
    share.wait(waiting)?.reject(tooMany())
    return promise
  }

  #offer(connection: Connection): void {
    const next = this.#nextWaiting()
    if (next !== undefined) {
      this.#shares[next.kind].use(next)
      next.resolve(connection)
    } else if (this.#closed !== undefined) this.#retire(connection)
    else this.#idle.push({ connection, since: Date.now() })
  }

  #retire(connection: Connection, user?: User): void {
    this.#alive.delete(connection)
    // A server that does not answer must not delay closing.
    withTimeout(this.#driver.end(connection), END_TIME, 'the connection did not end in time')
      .catch(() => this.#driver.destroy(connection))
      .finally(() => this.#closeOne(user))
  }

  /** Removes a lost connection if it is idle. The work on one in use fails by itself, or has just been done. */
  #forget(connection: Connection): void {
    this.#alive.delete(connection)
    const index = this.#idle.findIndex((idle) => idle.connection === connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.discard(connection)
  }

  #closeOne(user?: User): void {
    this.#open--
    if (user !== undefined) this.#shares[user.kind].free(user)
    this.#serveWaiting()
    if (this.#open === 0) this.#closed?.resolve()
  }

  /** Makes connections for those that wait. */
  #serveWaiting(): void {
    while (this.#mayConnect()) {
      const next = this.#nextWaiting()
      if (next === undefined) return
      this.#connect(next).then(next.resolve, next.reject)
    }
  }

  /** Of those that are next for each kind of use, and may have a connection, takes the one that came first. */
  #nextWaiting(): Waiting<Connection> | undefined {
    let first: Waiting<Connection> | undefined
    for (const share of Object.values(this.#shares)) {
      const next = share.next()
      if (next !== undefined && (first === undefined || next.number < first.number)) first = next
    }
    return first && this.#shares[first.kind].takeNext()
  }
}

const tooMany = () =>
  new StoreUnavailable('too many requests wait for a connection', {
    reason: 'overload',
    nothingWritten: true,
  })
