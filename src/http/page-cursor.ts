import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import {
  type BookQuery,
  type Position,
  SORT_KEY_LENGTH,
  type SortField,
  sortKey,
} from '../catalogue/query.ts'
import type { Store } from '../catalogue/store.ts'

/** Bytes of the HMAC that are kept: it cannot be guessed (RFC 2104 §5). */
const SIGNATURE_LENGTH = 16

/** Bytes that a text may have in a cursor, as JSON. Proxies refuse long headers: nginx an answer with 4 KiB of them. */
const MAX_TEXT = 128

/** The last code point in every order. */
const HIGHEST = '\u{10FFFF}'

/** A text that is too long for a cursor: its beginning and its digest. */
type CutText = readonly [beginning: string, digest: string]

/** A position as a cursor tells it. */
export type Place = readonly (Position[number] | CutText)[]

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
    const content = Buffer.from(JSON.stringify(position.map(cut)))
    return Buffer.concat([this.#sign(content, query), content]).toString('base64url')
  }

  /** @returns undefined for anything but a cursor that was written for the same order. */
  read(cursor: string, query: BookQuery): Place | undefined {
    const bytes = Buffer.from(cursor, 'base64url')
    // Decoders are lenient: only the one spelling that was given out is accepted.
    if (bytes.length < SIGNATURE_LENGTH || bytes.toString('base64url') !== cursor) return undefined
    const content = bytes.subarray(SIGNATURE_LENGTH)
    if (!timingSafeEqual(bytes.subarray(0, SIGNATURE_LENGTH), this.#sign(content, query))) return undefined
    return JSON.parse(content.toString()) as Place
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

/**
 * Finds the position of a place. A text that was cut is read from its book. If the book has been changed or deleted,
 * the position is before all books whose text begins so: some of them come again, but none is left out.
 * @throws what Store.find throws
 */
export async function positionAt(
  store: Pick<Store, 'find'>,
  place: Place,
  { order }: BookQuery,
): Promise<Position> {
  if (order === 'relevance' || !place.some(isCut)) return place as Position
  const book = await store.find(place.at(-1) as number)
  return place.map((value, i) => {
    if (!isCut(value)) return value
    const { name, descending } = order[i] as SortField
    const [beginning, digest] = value
    const text = book && String(sortKey(book[name]))
    if (text !== undefined && digestOf(text) === digest) return text
    return descending ? sortKey(beginning + HIGHEST.repeat(SORT_KEY_LENGTH)) : beginning
  })
}

function isCut(value: Place[number]): value is CutText {
  return typeof value === 'object'
}

function cut(value: Position[number]): Place[number] {
  if (typeof value === 'number' || jsonLength(value) <= MAX_TEXT) return value
  let [beginning, length] = ['', 0]
  for (const character of value) {
    length += jsonLength(character)
    if (length > MAX_TEXT) break
    beginning += character
  }
  return [beginning, digestOf(value)]
}

/** The length of a text in JSON, without its quotes, in bytes. */
const jsonLength = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16)
