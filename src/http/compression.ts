import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { negotiateCoding } from './content-negotiation.ts'

/** Shorter texts are not compressed: they fit into one packet as they are. */
const WORTHWHILE = 1024

/** The content codings of lists (RFC 9110 §8.4.1), the preferred one first. */
const CODINGS = ['identity', 'zstd', 'gzip'] as const
export type ListCoding = (typeof CODINGS)[number]

/** Books become hardly smaller with more effort, which takes several times as long. */
const CHUNKS = { chunkSize: 64 * 1024 }
const GZIP = { ...CHUNKS, level: constants.Z_BEST_SPEED }
const ZSTD = { ...CHUNKS, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** How many streams are compressed at a time. More would take all processors from other requests. */
const MOST_STREAMS = 2

/** The memory that a stream takes for its compression, in bytes: as much as zstd needs at most, which is more than gzip. */
export const COMPRESSION_SIZE = 2 * 1024 * 1024

const gzipText = promisify(gzip)
const zstdText = promisify(zstdCompress)

export const chooseCoding = (request: FastifyRequest): ListCoding => negotiateCoding(request, CODINGS)

/** The streams that are being compressed. */
export class CompressedStreams {
  #count = 0

  /** @returns false if there are enough; otherwise it is one of them until the response has ended. */
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
 * Compresses with gzip (RFC 1952) or zstd (RFC 8878), on other threads. A stream is compressed as it is read.
 * @param cut ends the response if the stream fails: its end would not show that something is missing.
 */
export async function compress(
  content: string | Readable,
  coding: Exclude<ListCoding, 'identity'>,
  cut: () => void,
): Promise<Buffer | Readable> {
  if (!(content instanceof Readable))
    return coding === 'gzip' ? gzipText(content, GZIP) : zstdText(content, ZSTD)
  const compressed = coding === 'gzip' ? createGzip(GZIP) : createZstdCompress(ZSTD)
  content.once('error', cut)
  // The client may go before it has everything.
  compressed.once('close', () => content.destroy())
  return content.pipe(compressed)
}
