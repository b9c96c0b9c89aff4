import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type Book, identityText } from '../catalogue/book.ts'
import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import { failure } from './envelope.ts'

/** The fields of a conditional request (RFC 9110 §13.1). Those with dates are ignored: books have none. */
export interface Preconditions {
  readonly 'if-match'?: string | undefined
  readonly 'if-none-match'?: string | undefined
}

/** How often a conditional write is tried. An attempt fails if another client changes the book in the meantime. */
const ATTEMPTS = 10

/** An element of a list: an entity tag (RFC 9110 §8.8.3), whose opaque-tag is captured, or nothing (§5.6.1.2). */
const LIST_ELEMENT = /[ \t]*(?:(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** The end of one of our tags. Apache, Caddy, Jetty and others insert the content coding when they compress. */
const ENDING = /^(?:(?:--?|;)(?:br|deflate|gzip|zstd))?"$/

/** The strong entity tag of a book (RFC 9110 §8.8.3). Equal fields have the same tag on every engine and instance. */
export function entityTag(book: Book): string {
  return `"${hash('sha256', identityText(book), 'base64url')}"`
}

/**
 * Whether If-Match is satisfied. RFC 9110 §13.1.1 requires strong comparison, but a tag that a compressing proxy has
 * made weak matches too: otherwise nobody behind such a proxy could save with If-Match. The tag still names the same
 * fields, so no change by others can be overwritten.
 */
export function ifMatch(preconditions: Preconditions, tag: string): boolean {
  const list = preconditions['if-match']
  return list === undefined || includes(list, tag)
}

/** Whether If-None-Match is satisfied, by weak comparison (RFC 9110 §13.1.2). */
export function ifNoneMatch(preconditions: Preconditions, tag: string): boolean {
  const list = preconditions['if-none-match']
  return list === undefined || !includes(list, tag)
}

/** Without a stream, Fastify would add Content-Length: 0 to the response to HEAD, against RFC 9110 §8.6. */
export const notModified = (reply: FastifyReply) => reply.code(304).send(Readable.from([]))

/**
 * Compare and swap: writes only if the stored book meets the preconditions (RFC 9110 §13.2) and is still the same.
 * @param write writes only if the stored book is as expected. It returns undefined or false if it has not written.
 * @returns the result of `write`, or undefined if there is no such book.
 * @throws failure.preconditionFailed
 * @throws StoreUnavailable if others change the book during every attempt.
 */
export async function conditionalWrite<Result>(
  store: Pick<Store, 'find'>,
  id: number,
  preconditions: Preconditions,
  write: (expected?: Book) => Promise<Result>,
): Promise<Result | undefined> {
  const { 'if-match': match = '*', 'if-none-match': noneMatch } = preconditions
  // No others can fail for a book that exists. A missing book is 404 before they are checked.
  if (match === '*' && noneMatch === undefined) return write()
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const book = await store.find(id)
    if (book === undefined) return undefined
    const tag = entityTag(book)
    if (!ifMatch(preconditions, tag) || !ifNoneMatch(preconditions, tag)) throw failure.preconditionFailed
    const result = await write(book)
    if (result) return result
  }
  const message = `others have changed the book ${ATTEMPTS} times between reading and writing it`
  throw new StoreUnavailable(message, { reason: 'conflict', nothingWritten: true })
}

/**
 * @param list the value of a field, or of several lines joined with commas. A malformed list includes nothing.
 * @param tag a strong entity tag. It is also found as a compressing proxy has changed it.
 */
function includes(list: string, tag: string): boolean {
  if (list === '*') return true
  let isIncluded = false
  for (let position = 0; position < list.length; position = LIST_ELEMENT.lastIndex) {
    LIST_ELEMENT.lastIndex = position
    const member = LIST_ELEMENT.exec(list)
    if (member === null) return false
    const [, text = ''] = member
    if (text.startsWith(tag.slice(0, -1)) && ENDING.test(text.slice(tag.length - 1))) isIncluded = true
  }
  return isIncluded
}
