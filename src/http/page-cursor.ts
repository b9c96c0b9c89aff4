import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { BookQuery, Position, SortField, SortName } from '../catalogue/query.ts'
import { COMPARED_LENGTH, plainKey, SORT_KEY_VERSION, sortKey, textOfKey } from '../catalogue/sort-key.ts'
import type { Store } from '../catalogue/store.ts'

/** How many bytes of the HMAC are kept: too many to guess (RFC 2104 §5). */
const SIGNATURE_LENGTH = 16

/** The longest text in a cursor, in bytes of JSON. Proxies refuse long headers: nginx those of an answer from 4 KiB. */
const MAX_TEXT = 128

/** Follows every end of a sort key. */
const LAST = '\u{10FFFF}'.repeat(2 * COMPARED_LENGTH)

/** Stands for a sort key that is too long for a cursor. */
type CutKey = readonly [beginning: string, digest: string]

/** A sort key that was not made of its text by the rules, because it is not stored yet. */
type WholeKey = readonly [key: string]

/** A position as it is in a cursor. A text stands for the sort key that is made of it. */
export type Place = readonly (Position[number] | WholeKey | CutKey)[]

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
    const { order } = query
    const place = position.map((key, i) => placeOf(key, order === 'relevance' ? 'id' : order[i]?.name))
    const content = Buffer.from(JSON.stringify(place))
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

  #sign(content: Buffer, { order, filter, searchedTitle }: BookQuery): Buffer {
    // In the order of relevance, a position depends on what was searched.
    const parts = order === 'relevance' ? [order, filter.words, searchedTitle] : order
    const meaning = [SORT_KEY_VERSION, ...parts]
    const hmac = createHmac('sha256', this.#key)
      .update(`cursor ${JSON.stringify(meaning)}\n`)
      .update(content)
    return hmac.digest().subarray(0, SIGNATURE_LENGTH)
  }
}

/**
 * Finds the position of a place. A key that was cut is made of its book. If the book has been changed or deleted, the
 * position is before all books whose key has the same beginning: some books are repeated, but none is left out.
 * @throws what Store.find throws.
 */
export async function positionAt(
  store: Pick<Store, 'find'>,
  place: Place,
  { order }: BookQuery,
): Promise<Position> {
  if (order === 'relevance') return place as Position
  const book = place.some(isCut) ? await store.find(place.at(-1) as number) : undefined
  return place.map((value, i) => {
    const { name, descending } = order[i] as SortField
    if (typeof value !== 'object') return sortKey(name, value)
    const [beginning, digest] = value
    if (digest === undefined) return beginning
    const text = book && String(book[name])
    const keys = text === undefined ? [] : [String(sortKey(name, text)), plainKey(text)]
    return keys.find((key) => digestOf(key) === digest) ?? beginning + (descending ? LAST : '')
  })
}

function isCut(value: Place[number]): value is CutKey {
  return typeof value === 'object' && value.length === 2
}

function placeOf(key: Position[number], name: SortName | undefined): Place[number] {
  if (typeof key === 'number' || name === undefined) return key
  const text = textOfKey(key)
  const isMade = sortKey(name, text) === key
  if (jsonLength(isMade ? text : key) <= MAX_TEXT) return isMade ? text : [key]
  let beginning = ''
  let length = 0
  for (const character of key) {
    length += jsonLength(character)
    if (length > MAX_TEXT) break
    beginning += character
  }
  return [beginning, digestOf(key)]
}

/** The length of a text in JSON, without its quotes, in bytes. */
const jsonLength = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16)
