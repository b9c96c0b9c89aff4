import type { Readable } from 'node:stream'

/**
 * Reads a body, its chunks copied together as they come: a client may send a byte in each, and a chunk that is kept
 * takes hundreds of bytes beside its own.
 * @param limit bytes that it may have; of one that has more no more is kept.
 * @param done gets the body, or undefined if it is over the limit, or else why it ended early.
 */
export function readBody(
  stream: Readable,
  limit: number,
  done: (error: Error | null, body?: Buffer) => void,
): void {
  let buffer: Buffer = Buffer.alloc(0)
  let size = 0

  function settle(error: Error | null, body?: Buffer): void {
    stream.off('data', add).off('end', end).off('error', settle)
    done(error, body)
  }

  function add(chunk: Buffer): void {
    const start = size
    size += chunk.length
    if (size > limit) {
      settle(null)
      return
    }
    // Most bodies are one chunk, which needs no copy.
    if (start === 0) {
      buffer = chunk
      return
    }
    if (size > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(size, Math.min(2 * buffer.length, limit)))
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
