import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

const MIB = 1024 * 1024

/** Sizes are in bytes, times in milliseconds. */
export interface UnsentLimits {
  /** When all answers together hold so much, new ones are refused. Those under way may reach twice as much. */
  readonly budget: number
  /** A client has to take so many bytes in this time, once more than half of the budget is in use. */
  readonly rate: { readonly bytes: number; readonly time: number }
  /** A client that has taken less for so long is cut if its memory is needed for another one. */
  readonly patience: number
  /** How often the rate is checked. */
  readonly interval: number
}

/** For one thread. Each of several has a share of the budget. */
export const UNSENT_LIMITS: UnsentLimits = {
  budget: 64 * MIB,
  rate: { bytes: 30 * 1024, time: 30_000 },
  patience: 1000,
  interval: 1000,
}

/** An answer up to this size is not counted, in bytes. It is no danger, however many connections there are. */
export const UNCOUNTED = 16 * 1024

interface Reader {
  readonly reply: FastifyReply
  readonly socket: Socket
  /** How much memory its answer takes. */
  bytes: number
  /** How many bytes it had taken when it last had taken enough, and when that was. */
  mark: number
  since: number
}

/**
 * Bounds the memory of large answers that clients have not taken. What the system has buffered counts as taken. For a
 * client that reads nothing that may be megabytes.
 */
export class UnsentAnswers {
  readonly #limits: UnsentLimits
  /** The client that has taken nothing for the longest time comes first. */
  readonly #readers = new Map<ServerResponse, Reader>()
  #total = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: UnsentLimits) {
    this.#limits = limits
  }

  /**
   * Notes how much memory an answer takes, until it is sent or its client has gone.
   * @returns false if there is no room for an answer that has not begun. An answer that has begun is cut then.
   */
  hold(reply: FastifyReply, bytes: number): boolean {
    const { raw: response } = reply
    const { socket } = response
    if (socket === null || socket.destroyed) return true
    const known = this.#readers.get(response)
    const more = bytes - (known?.bytes ?? 0)
    const limit = known === undefined ? this.#limits.budget : 2 * this.#limits.budget
    // One answer alone always has room: the share of a thread may be smaller than a page.
    const isAlone = this.#total === (known?.bytes ?? 0)
    if (!isAlone && this.#total + more > this.#limits.budget) this.#makeRoom(more)
    // This one may have been cut.
    if (known !== undefined && !this.#readers.has(response)) return true
    const hasRoom = isAlone || this.#total + more <= limit
    if (known !== undefined) {
      this.#total += more
      known.bytes = bytes
      if (!hasRoom) this.#cut(known)
      return true
    }
    if (!hasRoom) return false
    this.#total += bytes
    this.#readers.set(response, { reply, socket, bytes, mark: takenBy(socket), since: performance.now() })
    response.once('close', () => this.#forget(response))
    this.#timer ??= setInterval(() => this.#check(), this.#limits.interval).unref()
    return true
  }

  #makeRoom(bytes: number): void {
    const now = performance.now()
    for (const reader of [...this.#readers.values()]) {
      if (this.#total + bytes <= this.#limits.budget || now - reader.since < this.#limits.patience) return
      this.#look(reader, now)
      if (now - reader.since >= this.#limits.patience) this.#cut(reader)
    }
  }

  #check(): void {
    const now = performance.now()
    for (const reader of [...this.#readers.values()]) {
      this.#look(reader, now)
      const isLate = now - reader.since > this.#limits.rate.time
      if (isLate && this.#total > this.#limits.budget / 2) this.#cut(reader)
    }
  }

  /** Notes it if the client has taken enough, or everything that there was for it. */
  #look(reader: Reader, now: number): void {
    const taken = takenBy(reader.socket)
    if (taken - reader.mark < this.#limits.rate.bytes && reader.socket.writableLength > 0) return
    reader.mark = taken
    reader.since = now
    this.#readers.delete(reader.reply.raw)
    this.#readers.set(reader.reply.raw, reader)
  }

  #cut({ reply, socket }: Reader): void {
    reply.log.debug({ ip: reply.request.ip }, 'a client was cut that did not take its answer')
    this.#forget(reply.raw)
    socket.destroy()
  }

  #forget(response: ServerResponse): void {
    this.#total -= this.#readers.get(response)?.bytes ?? 0
    this.#readers.delete(response)
    if (this.#readers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** How many bytes the system has taken to send. Node's own timeout of connections uses `_handle` too. */
function takenBy(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
