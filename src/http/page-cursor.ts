import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import {
  type BookQuery,
  type Position,
  SORT_KEY_LENGTH,
  type SortField,
  sortKey,
} from '../catalogue/query.ts'
import type { Store } from '../catalogue/store.ts'

/** How many bytes of the HMAC are kept: too many to guess (RFC 2104 §5). */
const SIGNATURE_LENGTH = 16

/** The longest text in a cursor, in bytes of JSON. Proxies refuse long headers: nginx those of an answer from 4 KiB. */
const MAX_TEXT = 128

/** The last code point in every order. */
const HIGHEST = '\u{10FFFF}'

/** Stands for a text that is too long for a cursor. */
type CutText = readonly [beginning: string, digest: string]

/** A position as it is in a cursor. */
export type Place = readonly (Position[number] | CutText)[]

/**
 * Writes and reads cursors: positions in an order, as opaque text for clients. Cursors are signed with the secret that
 * all instances share. So a cursor is accepted only unchanged, and only for the order that it was made for.
 */
export class Cursors {
  readonly #key: ReturnType<typeof createSecretKey>

  /** @param secret the HMAC key, in UTF-8; not empty. */
  constructor(secret: string) {
    this.#key = createSecretKey(secret, 'utf8')
  }

  write(position: Position, query: BookQuery): string {
    const content = Buffer.from(JSON.stringify(position.map(cut)))
    return Buffer.concat([this.#sign(content, query), content]).toString('base64url')
  }

  /** @returns undefined if the text is no cursor that was written for the same order. */
  read(cursor: string, query: BookQuery): Place | undefined {
    const bytes = Buffer.from(cursor, 'base64url')
    // The decoder is lenient, but only the spelling that was given out is accepted.
    if (bytes.length < SIGNATURE_LENGTH || bytes.toString('base64url') !== cursor) return undefined
    const content = bytes.subarray(SIGNATURE_LENGTH)
    if (!timingSafeEqual(bytes.subarray(0, SIGNATURE_LENGTH), this.#sign(content, query))) return undefined
    return JSON.parse(content.toString()) as Place
  }

  #sign(content: Buffer, { order, filter }: BookQuery): Buffer {
    // In the order of relevance, a position depends on the words.
    const meaning = order === 'relevance' ? [order, filter.words] : order
    const hmac = createHmac('sha256', this.#key)
      .update(`cursor ${JSON.stringify(meaning)}\n`)
      .update(content)
    return hmac.digest().subarray(0, SIGNATURE_LENGTH)
  }
}

/**
 * Finds the position of a place. A text that was cut is read from its book. If the book has been changed or deleted,
 * the position is before all books whose text has the same beginning: some books are repeated, but none is left out.
 * @throws what Store.find throws.
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
  let beginning = ''
  let length = 0
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
