import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { cut } from './close.ts'

/** How long a client may read nothing before it is disconnected to make room for another one, in milliseconds. */
const PATIENCE = 1000

/** How long a client may read nothing while more than half of the budget is in use, in milliseconds. */
const MAX_PATIENCE = 30_000

/** What takes memory: a response, or its request if that came without a connection (`app.inject`). */
type Message = ServerResponse | IncomingMessage

interface Share {
  readonly bytes: number
  /** When it last changed, by `performance.now()`. For a list, this is when its latest page was read. */
  readonly since: number
}

/**
 * Limits the memory that all request bodies, or all responses that clients have not read, take together. There is no
 * limit for each client, because connections cost an attacker nothing.
 */
export class ByteBudget {
  readonly #limit: number
  readonly #growthLimit: number
  readonly #log: Pick<FastifyBaseLogger, 'debug'>
  /** The one that changed longest ago is first. */
  readonly #shares = new Map<Message, Share>()
  #total = 0

  /** @param limit for all together, in bytes. @param growthLimit the same for messages that have a share already. */
  constructor(log: Pick<FastifyBaseLogger, 'debug'>, limit: number, growthLimit = limit) {
    this.#log = log
    this.#limit = limit
    this.#growthLimit = growthLimit
  }

  /** Sets the bytes that a message takes until it is closed. @returns false, with no change, if there is no room. */
  take(message: Message, bytes: number): boolean {
    if (message.closed) return true
    const now = performance.now()
    this.#makeRoom(message, bytes, now)
    const share = this.#shares.get(message)
    const others = this.#total - (share?.bytes ?? 0)
    const limit = share === undefined ? this.#limit : this.#growthLimit
    // One message alone always has room, because the budget of a thread may be smaller than a page.
    if (others > 0 && others + bytes > limit) return false
    if (share === undefined) message.once('close', () => this.#release(message))
    this.#shares.delete(message)
    this.#shares.set(message, { bytes, since: now })
    this.#total = others + bytes
    return true
  }

  /** Disconnects clients that do not read. What the system has accepted for a client counts as read. */
  #makeRoom(message: Message, bytes: number, now: number): void {
    const more = bytes - (this.#shares.get(message)?.bytes ?? 0)
    for (const [other, { since }] of this.#shares) {
      const isLate = now - since >= MAX_PATIENCE && this.#total > this.#limit / 2
      const isInTheWay = now - since >= PATIENCE && this.#total + more > this.#limit
      if (!isLate && !isInTheWay) return
      if (other === message || !other.socket?.writableLength) continue
      this.cut(other)
    }
  }

  /** Ends a connection, and frees its share at once. */
  cut(message: Message): void {
    this.#log.debug({ ip: message.socket?.remoteAddress }, 'a client was cut that did not take its response')
    this.#release(message)
    if (message.socket) cut(message.socket)
    message.destroy()
  }

  #release(message: Message): void {
    this.#total -= this.#shares.get(message)?.bytes ?? 0
    this.#shares.delete(message)
  }
}
