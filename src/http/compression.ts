import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { negotiateCoding } from './content-negotiation.ts'

/** Shorter texts are not compressed: they fit into one packet as they are. */
const WORTHWHILE = 1024

/** Books become hardly smaller with more effort, which takes several times as long. */
const OPTIONS = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 }

/** How many streams are compressed at a time. More would take all processors from other requests. */
const MOST_STREAMS = 2

/** The memory that a stream takes for its compression, in bytes: that of zlib (zconf.h), and a chunk on either side. */
export const COMPRESSION_SIZE = 384 * 1024

const compressText = promisify(gzip)

/** Whether the client prefers answers in gzip. */
export const prefersGzip = (request: FastifyRequest) =>
  negotiateCoding(request, ['identity', 'gzip']) === 'gzip'

/** The streams that are being compressed. */
export class CompressedStreams {
  #count = 0

  /** @returns false if there are enough; otherwise it is one of them until the answer has ended. */
  begin({ raw }: Pick<FastifyReply, 'raw'>): boolean {
    if (this.#count >= MOST_STREAMS || raw.closed) return false
    this.#count++
    raw.once('close', () => this.#count--)
    return true
  }
}

export function isWorthCompressing(content: string | Readable): boolean {
  return content instanceof Readable || content.length >= WORTHWHILE
}

/**
 * Compresses with gzip (RFC 1952), on other threads. A stream is compressed as it is read.
 * @param cut ends the answer if the stream fails: its end would not show that something is missing.
 */
export async function compress(content: string | Readable, cut: () => void): Promise<Buffer | Readable> {
  if (!(content instanceof Readable)) return compressText(content, OPTIONS)
  const compressed = createGzip(OPTIONS)
  content.once('error', cut)
  // The client may go before it has everything.
  compressed.once('close', () => content.destroy())
  return content.pipe(compressed)
}
