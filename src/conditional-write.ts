import type { Book } from './catalogue/book.ts'
import { type Store, StoreUnavailable } from './catalogue/store.ts'
import {
  type Conditions,
  entityTag,
  hasConditions,
  ifMatch,
  ifNoneMatch,
} from './http/conditional-requests.ts'
import { failure } from './http/envelope.ts'

/** Each one in vain means that others have changed the book meanwhile. */
const ATTEMPTS = 10

/**
 * Writes if the conditions of the request let it pass (RFC 9110 §13.2), by compare and swap: the conditions are
 * checked against the book that was found, and the write happens only if the book is still that one.
 * @param write is done only if the book is as expected; it answers undefined or false if it was not done.
 * @returns what the write answers, or undefined if there is no such book.
 * @throws failure.preconditionFailed
 * @throws StoreUnavailable when others have changed the book every time.
 */
export async function conditionalWrite<Result>(
  store: Pick<Store, 'find'>,
  id: number,
  conditions: Conditions,
  write: (expected?: Book) => Promise<Result>,
): Promise<Result | undefined> {
  if (!hasConditions(conditions)) return write()
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const book = await store.find(id)
    if (book === undefined) return undefined
    const tag = entityTag(book)
    if (!ifMatch(conditions, tag) || !ifNoneMatch(conditions, tag)) throw failure.preconditionFailed
    const result = await write(book)
    if (result) return result
  }
  throw new StoreUnavailable(`others have changed the book ${ATTEMPTS} times between reading and writing it`)
}
