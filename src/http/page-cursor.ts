import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { BookQuery, Position, SortName } from '../catalogue/query.ts'
import { SORT_KEY_VERSION, sortKey, textOfKey } from '../catalogue/sort-key.ts'

/** The length of the truncated HMAC, in bytes: too long to guess (RFC 2104 §5). */
const SIGNATURE_LENGTH = 16

/** A whole sort key, which `sortKey` would not make from its text, because the key of the book is not stored yet. */
type WholeKey = readonly [key: string]

/** A position as it is written in a cursor. A text stands for the sort key that is made from it. */
type Place = readonly (Position[number] | WholeKey)[]

/**
 * Writes and reads cursors: positions in an order, as opaque text for clients. They are signed with the secret that all
 * instances share, so a cursor is accepted only unchanged, and only for the order that it was written for.
 */
export class Cursors {
  readonly #key: ReturnType<typeof createSecretKey>

  /** @param secret the HMAC key, in UTF-8; not empty. */
  constructor(secret: string) {
    this.#key = createSecretKey(secret, 'utf8')
  }

  write(position: Position, query: BookQuery): string {
    const place = position.map((key, i) => placeOf(key, nameOf(query, i)))
    const content = Buffer.from(JSON.stringify(place))
    return Buffer.concat([this.#sign(content, query), content]).toString('base64url')
  }

  /**
   * @returns the position; `outdated` if the cursor was written for the same fields by the previous version of the sort
   * keys; undefined if it is not a cursor for this order.
   */
  read(cursor: string, query: BookQuery): Position | 'outdated' | undefined {
    const bytes = Buffer.from(cursor, 'base64url')
    // The decoder is lenient, but only the spelling that `write` produces is accepted.
    if (bytes.length < SIGNATURE_LENGTH || bytes.toString('base64url') !== cursor) return undefined
    const [signature, content] = [bytes.subarray(0, SIGNATURE_LENGTH), bytes.subarray(SIGNATURE_LENGTH)]
    const isOf = (version: number) => timingSafeEqual(signature, this.#sign(content, query, version))
    if (!isOf(SORT_KEY_VERSION)) return isOf(SORT_KEY_VERSION - 1) ? 'outdated' : undefined
    const place = JSON.parse(content.toString()) as Place
    return place.map((value, i) => (typeof value === 'object' ? value[0] : sortKey(nameOf(query, i), value)))
  }

  #sign(
    content: Buffer,
    { order, filter, searchedTitle }: BookQuery,
    version: number = SORT_KEY_VERSION,
  ): Buffer {
    // In the order of relevance, a position depends on the search.
    const parts = order === 'relevance' ? [order, filter.words, searchedTitle] : order
    const hmac = createHmac('sha256', this.#key)
      .update(`cursor ${JSON.stringify([version, ...parts])}\n`)
      .update(content)
    return hmac.digest().subarray(0, SIGNATURE_LENGTH)
  }
}

/** The field of a key in a position. By relevance all keys are numbers, for which the field does not matter. */
const nameOf = ({ order }: BookQuery, i: number): SortName =>
  (order === 'relevance' ? undefined : order[i]?.name) ?? 'id'

function placeOf(key: Position[number], name: SortName): Place[number] {
  if (typeof key === 'number') return key
  const text = textOfKey(key)
  return sortKey(name, text) === key ? text : [key]
}
