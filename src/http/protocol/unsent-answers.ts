import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

const MIB = 1024 * 1024

/** Bytes and milliseconds. */
export interface UnsentLimits {
  /** What all answers together may hold in memory before new ones are refused; those under way may reach twice as much. */
  readonly budget: number
  /** What a client has to take in this time, once more than half of the budget is in use. */
  readonly rate: { readonly bytes: number; readonly time: number }
  /** A client that has taken less than that for so long is cut if its memory is needed for another. */
  readonly patience: number
  /** How often the rate is checked. */
  readonly interval: number
}

const LIMITS: UnsentLimits = {
  budget: 64 * MIB,
  rate: { bytes: 30 * 1024, time: 30_000 },
  patience: 1000,
  interval: 1000,
}

/** An answer up to this size is not counted: however many connections there are, this much of each is no danger. */
export const UNCOUNTED = 16 * 1024

interface Reader {
  readonly reply: FastifyReply
  readonly socket: Socket
  /** What its answer has in memory. */
  bytes: number
  /** Bytes that it had taken in all when it last had taken enough, and when that was. */
  mark: number
  since: number
}

/**
 * Bounds the memory of large answers that clients have not taken. What the system has taken, which may be megabytes for
 * a client that reads nothing, counts as taken by the client.
 */
export class UnsentAnswers {
  readonly #limits: UnsentLimits
  /** Those that have waited longest are first. */
  readonly #readers = new Map<ServerResponse, Reader>()
  #total = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  /**
   * Notes what an answer has in memory, until it is sent or its client is gone.
   * @returns false if there is no room for an answer that has not begun. One that has is cut then.
   */
  hold(reply: FastifyReply, bytes: number): boolean {
    const { raw: response } = reply
    const { socket } = response
    if (socket === null || socket.destroyed) return true
    const known = this.#readers.get(response)
    const more = bytes - (known?.bytes ?? 0)
    const limit = known === undefined ? this.#limits.budget : 2 * this.#limits.budget
    if (this.#total + more > this.#limits.budget) this.#makeRoom(more)
    const hasRoom = this.#total + more <= limit
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

  /** Notes whether the client has taken enough, or everything that there was for it. */
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

/** Bytes that the system has taken to send. `_handle` is what Node's own check of a connection's timeout looks at. */
function takenBy(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
