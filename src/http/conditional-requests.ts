import { hash } from 'node:crypto'
import type { Book } from '../catalogue/book.ts'

/** The header fields that make a request conditional (RFC 9110 §13.1); those with dates do not, for books have none. */
export interface Conditions {
  readonly 'if-match'?: string | undefined
  readonly 'if-none-match'?: string | undefined
}

/** A member of a list, which may be empty (RFC 9110 §5.6.1.2), with an entity tag (§8.8.3): its weakness, its text. */
const MEMBER = /[ \t]*(?:(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** The strong entity tag of a book (RFC 9110 §8.8.3): the same for the same fields, on every engine and instance. */
export function entityTag({ title, author, year }: Book): string {
  return `"${hash('sha256', `${title}\0${author}\0${year}`, 'base64url')}"`
}

/** Whether the conditions can fail for a book that exists. One that does not is answered with 404 before. */
export function hasConditions(conditions: Conditions): boolean {
  const ifMatch = conditions['if-match']
  return (ifMatch !== undefined && ifMatch !== '*') || conditions['if-none-match'] !== undefined
}

/** Whether If-Match lets the request pass, by strong comparison (RFC 9110 §13.1.1). */
export function ifMatch(conditions: Conditions, tag: string): boolean {
  const list = conditions['if-match']
  return list === undefined || includes(list, tag, 'strong')
}

/** Whether If-None-Match lets the request pass, by weak comparison (RFC 9110 §13.1.2). */
export function ifNoneMatch(conditions: Conditions, tag: string): boolean {
  const list = conditions['if-none-match']
  return list === undefined || !includes(list, tag, 'weak')
}

/**
 * @param list of one header field, or of several that were joined with commas; one that is malformed includes nothing.
 * @param tag a strong one.
 */
function includes(list: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (list === '*') return true
  let isIncluded = false
  for (let position = 0; position < list.length; position = MEMBER.lastIndex) {
    MEMBER.lastIndex = position
    const member = MEMBER.exec(list)
    if (member === null) return false
    const [, weak, opaque] = member
    if (opaque === tag && (weak === undefined || comparison === 'weak')) isIncluded = true
  }
  return isIncluded
}
