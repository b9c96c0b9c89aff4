import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { BookQuery, Position } from './book-query.ts'

/** Bytes of the HMAC that are kept: it cannot be guessed (RFC 2104 §5). */
const SIGNATURE_LENGTH = 16

/**
 * Positions in an order as clients get them: opaque text, signed with the secret that the instances share, so that
 * a cursor is accepted only as it was given out, and only for the order that it was made for.
 */
export class Cursors {
  readonly #key: ReturnType<typeof createSecretKey>

  /** @param secret its UTF-8 bytes are the HMAC key, of any length but zero. */
  constructor(secret: string) {
    this.#key = createSecretKey(secret, 'utf8')
  }

  write(position: Position, query: BookQuery): string {
    const content = Buffer.from(JSON.stringify(position))
    return Buffer.concat([this.#sign(content, query), content]).toString('base64url')
  }

  /** @returns undefined for anything but a cursor that was written for the same order. */
  read(cursor: string, query: BookQuery): Position | undefined {
    const bytes = Buffer.from(cursor, 'base64url')
    // Decoders are lenient: only the one spelling that was given out is accepted.
    if (bytes.length < SIGNATURE_LENGTH || bytes.toString('base64url') !== cursor) return undefined
    const content = bytes.subarray(SIGNATURE_LENGTH)
    if (!timingSafeEqual(bytes.subarray(0, SIGNATURE_LENGTH), this.#sign(content, query))) return undefined
    return JSON.parse(content.toString()) as Position
  }

  #sign(content: Buffer, { order, filter }: BookQuery): Buffer {
    // By relevance, a position means something for these words only.
    const meaning = order === 'relevance' ? [order, filter.words] : order
    const hmac = createHmac('sha256', this.#key)
      .update(`cursor ${JSON.stringify(meaning)}\n`)
      .update(content)
    return hmac.digest().subarray(0, SIGNATURE_LENGTH)
  }
}
