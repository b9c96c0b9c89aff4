import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { failure } from '../envelope.ts'

/** Bytes that all bodies may take together, each from when it comes until its request is answered. */
const BUDGET = 64 * 1024 * 1024

/** What a body may take without being counted. However many connections there are, this much of each is no danger. */
const UNCOUNTED = 4096

/** Bytes that all bodies take. */
let taken = 0

/**
 * Reads a body, its chunks copied together as they come: a client may send a byte in each, and a chunk that is kept
 * takes hundreds of bytes beside its own.
 * @param limit bytes that it may have; of one that has more no more is kept.
 * @param answer to the request; when it is closed, the body takes no memory any more.
 * @param done gets the body, or undefined if it is over the limit, or else why it ended early: failure.unavailable if
 * all bodies together are too large.
 */
export function readBody(
  stream: Readable,
  limit: number,
  answer: EventEmitter,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  let buffer: Buffer = Buffer.alloc(0)
  let size = 0
  let counted = 0

  function settle(error: Error | null, body?: Buffer): void {
    stream.off('data', add).off('end', end).off('error', settle)
    buffer = Buffer.alloc(0)
    done(error, body)
  }

  /** @returns whether there is room. */
  function count(bytes: number): boolean {
    if (bytes <= UNCOUNTED) return true
    if (taken + bytes - counted > BUDGET) return false
    if (counted === 0) {
      answer.once('close', () => {
        taken -= counted
      })
    }
    taken += bytes - counted
    counted = bytes
    return true
  }

  function add(chunk: Buffer): void {
    const start = size
    size += chunk.length
    if (size > limit) {
      settle(null)
      return
    }
    // Most bodies are one chunk, which needs no copy.
    const isFirst = start === 0
    const capacity = isFirst ? size : Math.max(size, Math.min(2 * buffer.length, limit))
    if (size > buffer.length) {
      if (!count(capacity)) {
        settle(failure.unavailable)
        return
      }
      if (isFirst) {
        buffer = chunk
        return
      }
      const larger = Buffer.allocUnsafeSlow(capacity)
      buffer.copy(larger, 0, 0, start)
      buffer = larger
    }
    chunk.copy(buffer, start)
  }

  function end(): void {
    settle(null, buffer.subarray(0, size))
  }

  stream.on('data', add).on('end', end).on('error', settle).resume()
}
