import { hash } from 'node:crypto'
import { type Book, distinctText } from '../catalogue/book.ts'
import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import { failure } from './envelope.ts'

/** The header fields that make a request conditional (RFC 9110 §13.1). Those with dates are ignored: books have none. */
export interface Preconditions {
  readonly 'if-match'?: string | undefined
  readonly 'if-none-match'?: string | undefined
}

/** An attempt fails when others have changed the book in the meantime. */
const ATTEMPTS = 10

/** A member of a list: an entity tag (RFC 9110 §8.8.3), of which the group has the text, or nothing (§5.6.1.2). */
const MEMBER = /[ \t]*(?:(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** How a tag ends that was ours: Apache, Caddy, Jetty and others add the coding when they compress. */
const ENDING = /^(?:(?:--?|;)(?:br|deflate|gzip|zstd))?"$/

/** The strong entity tag of a book (RFC 9110 §8.8.3). The same fields have the same tag on every engine and instance. */
export function entityTag(book: Book): string {
  return `"${hash('sha256', distinctText(book), 'base64url')}"`
}

/** Whether the preconditions can fail for a book that exists. A book that does not exist is answered with 404 before. */
export function hasPreconditions(preconditions: Preconditions): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch } = preconditions
  return (match !== undefined && match !== '*') || noneMatch !== undefined
}

/**
 * Whether If-Match lets the request pass. RFC 9110 §13.1.1 wants strong comparison; here a tag that a proxy has made
 * weak, because it compresses, matches too. It still names the same fields, so no change of others can be overwritten.
 */
export function ifMatch(preconditions: Preconditions, tag: string): boolean {
  const list = preconditions['if-match']
  return list === undefined || includes(list, tag)
}

/** Whether If-None-Match lets the request pass, by weak comparison (RFC 9110 §13.1.2). */
export function ifNoneMatch(preconditions: Preconditions, tag: string): boolean {
  const list = preconditions['if-none-match']
  return list === undefined || !includes(list, tag)
}

/**
 * Writes if the preconditions of the request hold (RFC 9110 §13.2). It compares and swaps: the preconditions are
 * checked against the stored book, and the write happens only if the book has not changed since.
 * @param write writes only if the book is as expected. It returns undefined or false if it did not write.
 * @returns the result of the write, or undefined if there is no such book.
 * @throws failure.preconditionFailed
 * @throws StoreUnavailable when others have changed the book every time.
 */
export async function conditionalWrite<Result>(
  store: Pick<Store, 'find'>,
  id: number,
  preconditions: Preconditions,
  write: (expected?: Book) => Promise<Result>,
): Promise<Result | undefined> {
  if (!hasPreconditions(preconditions)) return write()
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
 * @param list the value of a header field, or of several joined with commas. A malformed list includes nothing.
 * @param tag a strong entity tag, which is in the list also as a proxy that compresses has changed it.
 */
function includes(list: string, tag: string): boolean {
  if (list === '*') return true
  let isIncluded = false
  for (let position = 0; position < list.length; position = MEMBER.lastIndex) {
    MEMBER.lastIndex = position
    const member = MEMBER.exec(list)
    if (member === null) return false
    const [, text = ''] = member
    if (text.startsWith(tag.slice(0, -1)) && ENDING.test(text.slice(tag.length - 1))) isIncluded = true
  }
  return isIncluded
}
