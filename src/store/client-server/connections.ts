import { StoreUnavailable } from '../../catalogue/store.ts'
import { FairQueue } from '../fair-queue.ts'
import { withTimeout } from '../timeout.ts'
import type { ErrorMeaning } from './errors.ts'

/** How many callers of each kind may wait for a connection. */
const MAX_WAITING = 5000

/** What a connection is used for. Counts, statistics and all queries that no index answers at once are searches. */
export type Kind = 'read' | 'write' | 'page' | 'search'

export interface User {
  readonly kind: Kind
  readonly client: string
}

/** The time for connecting, in milliseconds. By default an operation has more, so that its error can name the cause. */
export const CONNECT_TIME = 3000

export interface Driver<Connection> {
  meaningOf(error: unknown): ErrorMeaning
  /** Connects within CONNECT_TIME. */
  connect(): Promise<Connection>
  onLost(connection: Connection, callback: () => void): void
  /**
   * Tells the server to stop what it is doing on a connection that has been destroyed. Many servers do not notice that
   * the client is gone, and the number of their connections would grow.
   */
  cancel(connection: Connection): Promise<void>
  /** Ends the transaction after the server has refused a statement. @throws if the connection is lost. */
  reset(connection: Connection): Promise<unknown>
  destroy(connection: Connection): void
  end(connection: Connection): Promise<void>
}

/** How long the server may take to cancel a statement, to end a transaction and to end a connection; in milliseconds. */
const CANCEL_TIME = 1000
const RESET_TIME = 1000
const END_TIME = 4000

/** A connection that was idle for longer, in milliseconds, is not used again: a firewall may have dropped it. */
const MAX_IDLE_TIME = 60_000

/** The pause after a failed attempt to connect, in milliseconds. Meanwhile, requests share the existing connections. */
const CONNECT_PAUSE = 100

/** The least time between two replacements of all connections, in milliseconds. */
const RENEW_PAUSE = 1000

/** Of three connections or more, writes leave this share to other uses, and so do pages. */
const KEPT_FOR_OTHERS = 1 / 4

/** The share of the connections for searches, some of which take a thousand times as long as other uses. */
const FOR_SEARCHES = 1 / 2

/** A connection ends earlier than its maximum age by up to this fraction, so that not all are replaced at once. */
const AGE_SPREAD = 0.2

export interface ConnectionLimits {
  readonly size: number
  /** In milliseconds. */
  readonly maxAge: number
}

interface Waiting<Connection> extends User {
  /** Ascends in the order of arrival. */
  readonly number: number
  resolve(connection: Connection): void
  reject(error: unknown): void
}

/** The connections that one kind of use may have, and the users that wait for them. Clients take turns. */
class ConnectionShare<Waiting extends User> {
  readonly waiting = new FairQueue<Waiting>(MAX_WAITING)
  /** The connections in use or being opened, by client and in total. */
  readonly #usedBy = new Map<string, number>()
  #used = 0
  readonly isFull: () => boolean
  /** Whether a client may have one more, unless the share is full. */
  readonly hasRoom: (client: string) => boolean

  /** @param maxOfClient how many one client may have. */
  constructor(max: number, maxOfClient = max) {
    this.isFull = () => this.#used >= max
    this.hasRoom = (client) => (this.#usedBy.get(client) ?? 0) < maxOfClient
  }

  /** @param change 1 for a connection that is in use now, −1 for one that is free again. */
  count(change: 1 | -1, { client }: User): void {
    this.#used += change
    const used = (this.#usedBy.get(client) ?? 0) + change
    if (used === 0) this.#usedBy.delete(client)
    else this.#usedBy.set(client, used)
  }
}

/** No connection could be made. `cause` is the error of the driver. */
export class NotConnected extends Error {}

/**
 * Connections to one database server. Each is used by one caller at a time. (The pools of the drivers lack deadlines
 * for the wait and for the whole use, and limits for each kind of use.) The limits do not depend on each other: writes
 * that hang leave connections to queries, and slow searches leave some to pages and writes. Clients take turns.
 */
export class Connections<Connection> {
  readonly #driver: Driver<Connection>
  readonly #size: number
  readonly #shares: Readonly<Record<Kind, ConnectionShare<Waiting<Connection>>>>
  readonly #maxAge: number
  /** Connections that are open or being opened. */
  #open = 0
  /** Connections not known to be unusable, and when each becomes too old, as `Date.now()`. */
  readonly #alive = new Map<Connection, number>()
  /** The most recently used is last. */
  #idle: { readonly connection: Connection; readonly since: number }[] = []
  #lastNumber = 0
  #closed: { readonly promise: Promise<void>; resolve(): void } | undefined
  /** Why the last attempt to connect failed; undefined if it did not. */
  connectError: unknown
  /** While it runs, no connection is made. */
  #connectTimer: NodeJS.Timeout | undefined
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
      // One client leaves one of them to others.
      search: new ConnectionShare(searches, Math.max(1, searches - 1)),
    }
    this.#maxAge = maxAge
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * Waits for a connection. The caller has to release, reset, discard or cancel it.
   * @param passed ends the wait when it rejects.
   * @throws NotConnected; StoreUnavailable if too many wait; the error of `passed`.
   */
  async acquire(user: User, passed: Promise<never>): Promise<Connection> {
    const waiting = { ...user, number: ++this.#lastNumber, ...Promise.withResolvers<Connection>() }
    const queue = this.#shares[user.kind].waiting
    const refusal = { reason: 'overload', nothingWritten: true } as const
    queue.add(waiting)?.reject(new StoreUnavailable('too many requests wait for a connection', refusal))
    this.#serveWaiting()
    try {
      return await Promise.race([waiting.promise, passed])
    } catch (error) {
      queue.delete(waiting)
      // A connection that arrives later is for another caller.
      waiting.promise.then(
        (connection) => this.release(connection, user),
        () => {},
      )
      throw error
    }
  }

  release(connection: Connection, user: User): void {
    const oldAt = this.#alive.get(connection)
    if (oldAt === undefined) this.discard(connection, user)
    else if (Date.now() >= oldAt) this.#retire(connection, user)
    else {
      this.#shares[user.kind].count(-1, user)
      this.#idle.push({ connection, since: Date.now() })
      this.#serveWaiting()
      if (this.#closed !== undefined) this.#retireIdle()
    }
  }

  /** Destroys the connections that have been idle since before this time of `Date.now()`. */
  discardIdle(before: number): void {
    const old = this.#idle.filter(({ since }) => since < before)
    this.#idle = this.#idle.filter(({ since }) => since >= before)
    for (const { connection } of old) this.discard(connection)
  }

  /** Destroys a connection on which the server has not answered in time. What was not sent yet never will be. */
  cancel(connection: Connection, user: User): void {
    this.#alive.delete(connection)
    this.#driver.destroy(connection)
    // Only then is its place free: otherwise the server would be busy on ever more connections.
    withTimeout(this.#driver.cancel(connection), CANCEL_TIME, 'the statement was not cancelled in time')
      .catch(() => {})
      .finally(() => this.#closeOne(user))
  }

  /** Takes back a connection after the server has refused a statement on it. */
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

  /** Makes work that begins from now on use new connections, unless all were replaced a moment ago. */
  renew(): void {
    // Many requests may find the same fault, some of them on a connection that is new already.
    const age = Date.now() - this.#renewedAt
    if (age >= 0 && age < RENEW_PAUSE) return
    this.#renewedAt = Date.now()
    // As if they were lost: those in use are destroyed when their work is done.
    this.#alive.clear()
    this.discardIdle(Number.POSITIVE_INFINITY)
  }

  load() {
    return {
      connections_used: this.#open - this.#idle.length,
      connections_idle: this.#idle.length,
      requests_waiting: Object.values(this.#shares).reduce((sum, { waiting }) => sum + waiting.size, 0),
    }
  }

  /** Ends all connections, those in use when their work is done. */
  async close(): Promise<void> {
    this.#closed = Promise.withResolvers()
    this.#retireIdle()
    if (this.#open > 0) await this.#closed.promise
  }

  /** Gives connections to those that wait, as long as there are any, or new ones can be made. */
  #serveWaiting(): void {
    const [oldest] = this.#idle
    const before = Date.now() - MAX_IDLE_TIME
    // They are destroyed and not ended, because the server might not answer.
    if (oldest !== undefined && oldest.since < before) this.discardIdle(before)
    while (this.#idle.length > 0 || this.#mayConnect()) {
      const next = this.#nextWaiting()
      if (next === undefined) return
      this.#shares[next.kind].count(1, next)
      const idle = this.#idle.pop()
      if (idle !== undefined) next.resolve(idle.connection)
      else this.#connect(next).then(next.resolve, next.reject)
    }
  }

  #mayConnect(): boolean {
    return this.#open < this.#size && this.#connectTimer === undefined && this.#closed === undefined
  }

  async #connect(user: User): Promise<Connection> {
    this.#open++
    try {
      const connection = await this.#driver.connect()
      this.connectError = undefined
      this.#alive.set(connection, Date.now() + this.#maxAge * (1 - AGE_SPREAD * Math.random()))
      this.#driver.onLost(connection, () => this.#forget(connection))
      return connection
    } catch (cause) {
      this.connectError = cause
      this.#connectTimer ??= setTimeout(() => {
        this.#connectTimer = undefined
        this.#serveWaiting()
      }, CONNECT_PAUSE)
      this.#closeOne(user)
      throw new NotConnected('no connection could be made', { cause })
    }
  }

  #retireIdle(): void {
    for (const { connection } of this.#idle.splice(0)) this.#retire(connection)
  }

  #retire(connection: Connection, user?: User): void {
    this.#alive.delete(connection)
    // A server that does not answer must not delay closing.
    withTimeout(this.#driver.end(connection), END_TIME, 'the connection did not end in time')
      .catch(() => this.#driver.destroy(connection))
      .finally(() => this.#closeOne(user))
  }

  /** Removes a lost connection if it is idle. If it is in use, its work fails by itself, or has just been done. */
  #forget(connection: Connection): void {
    this.#alive.delete(connection)
    const index = this.#idle.findIndex((idle) => idle.connection === connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.discard(connection)
  }

  #closeOne(user?: User): void {
    this.#open--
    if (user !== undefined) this.#shares[user.kind].count(-1, user)
    this.#serveWaiting()
    if (this.#open === 0) this.#closed?.resolve()
  }

  /** Takes the user that came first, of those that are next for their kind of use and may have a connection. */
  #nextWaiting(): Waiting<Connection> | undefined {
    let first: Waiting<Connection> | undefined
    for (const share of Object.values(this.#shares)) {
      const next = share.isFull() ? undefined : share.waiting.peek(share.hasRoom)
      if (next !== undefined && (first === undefined || next.number < first.number)) first = next
    }
    if (first === undefined) return undefined
    const { waiting, hasRoom } = this.#shares[first.kind]
    return waiting.take(hasRoom)
  }
}
