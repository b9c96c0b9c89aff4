import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'
import type { FastifyReply } from 'fastify'

/** The content codings of lists (RFC 9110 §8.4.1), the preferred one first. */
export const CODINGS = ['identity', 'zstd', 'gzip'] as const
export type ListCoding = (typeof CODINGS)[number]

/** The fastest levels. Higher ones take several times as long, and make books hardly smaller. */
const CHUNKS = { chunkSize: 64 * 1024 }
const GZIP = { ...CHUNKS, level: constants.Z_BEST_SPEED }
const ZSTD = { ...CHUNKS, params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** The maximum number of streams compressed at a time. More would take all processors from other requests. */
const MAX_STREAMS = 2

/** The memory that compressing a stream takes, in bytes: the maximum for zstd, which is more than gzip needs. */
export const COMPRESSION_SIZE = 2 * 1024 * 1024

const gzipText = promisify(gzip)
const zstdText = promisify(zstdCompress)

export class CompressedStreams {
  #count = 0

  /** Counts a response until it is closed. @returns false, uncounted, if it is closed already or there are enough. */
  begin({ raw }: Pick<FastifyReply, 'raw'>): boolean {
    if (this.#count >= MAX_STREAMS || raw.closed) return false
    this.#count++
    raw.once('close', () => this.#count--)
    return true
  }
}

/**
 * Compresses on threads of Node's pool, with gzip (RFC 1952) or zstd (RFC 8878). A stream is compressed as it is read.
 * @param cut ends the connection if the stream fails: a proper end would make half a list look complete.
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
  // The client may disconnect before it has read everything.
  compressed.once('close', () => content.destroy())
  return content.pipe(compressed)
}
