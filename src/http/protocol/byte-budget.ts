import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'

/** A client that has taken nothing for so long is cut if its memory is needed for another one, in milliseconds. */
const PATIENCE = 1000

/** … and if more than half of the budget is in use, in milliseconds. */
const LONGEST_PATIENCE = 30_000

/** What takes memory: a response, or without a connection its request. */
type Message = ServerResponse | IncomingMessage

interface Share {
  readonly bytes: number
  /** When this was last changed, which for a list is when its last page was read; in milliseconds. */
  readonly since: number
}

/** Bounds the bytes that all request bodies, or all responses that clients have not taken, have in memory. */
export class ByteBudget {
  readonly #limit: number
  readonly #limitOfBegun: number
  readonly #log: Pick<FastifyBaseLogger, 'debug'>
  /** The one that changed longest ago comes first. */
  readonly #shares = new Map<Message, Share>()
  #total = 0

  /**
   * @param limit for all together, in bytes.
   * @param limitOfBegun up to which those that have a share already may grow.
   */
  constructor(log: Pick<FastifyBaseLogger, 'debug'>, limit: number, limitOfBegun = limit) {
    this.#log = log
    this.#limit = limit
    this.#limitOfBegun = limitOfBegun
  }

  /**
   * Notes how many bytes a body or a response takes, until the response is sent or its client has gone.
   * @returns false if there is no room for them. Then nothing has changed.
   */
  take(message: Message, bytes: number): boolean {
    if (message.closed) return true
    const now = performance.now()
    this.#makeRoom(message, bytes, now)
    const share = this.#shares.get(message)
    const others = this.#total - (share?.bytes ?? 0)
    const limit = share === undefined ? this.#limit : this.#limitOfBegun
    // One alone always has room: the budget of a thread may be smaller than a page.
    if (others > 0 && others + bytes > limit) return false
    if (share === undefined) message.once('close', () => this.#release(message))
    this.#shares.delete(message)
    this.#shares.set(message, { bytes, since: now })
    this.#total = others + bytes
    return true
  }

  /** Cuts clients that do not take what there is for them. What the system has accepted for a client counts as taken. */
  #makeRoom(message: Message, bytes: number, now: number): void {
    const more = bytes - (this.#shares.get(message)?.bytes ?? 0)
    for (const [other, { since }] of this.#shares) {
      const isLate = now - since >= LONGEST_PATIENCE && this.#total > this.#limit / 2
      const isInTheWay = now - since >= PATIENCE && this.#total + more > this.#limit
      if (!isLate && !isInTheWay) return
      if (other === message || !other.socket?.writableLength) continue
      this.cut(other)
    }
  }

  /** Ends a connection, so that there is room for others at once. */
  cut(message: Message): void {
    this.#log.debug({ ip: message.socket?.remoteAddress }, 'a client was cut that did not take its response')
    this.#release(message)
    message.destroy()
  }

  #release(message: Message): void {
    this.#total -= this.#shares.get(message)?.bytes ?? 0
    this.#shares.delete(message)
  }
}
