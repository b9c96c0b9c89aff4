import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { Book } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import type { Session } from '../../faults/engine-servers.ts'

export const bookNumber = (i: number) => ({ title: `title ${i}`, author: `author ${i}`, year: i })

/** Creates books at the same time, with the numbers from `first` on. */
export function createMany(store: Store, count: number, first = 0): Promise<Book[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => store.create(bookNumber(first + i))))
}

/** The books as plain objects; engines make objects of several prototypes. */
export const plain = (books: readonly (Book | undefined)[]) => books.map((book) => ({ ...(book as Book) }))

/** Locks books until the transaction of the session ends. One by one, so that MySQL locks no others. */
export async function lockBooks(session: Session, ...books: readonly Book[]): Promise<void> {
  await session.run('BEGIN')
  for (const { id } of books) await session.run(`SELECT id FROM books WHERE id = ${id} FOR UPDATE`)
}

/** Does not print the texts. */
export function assertSameBooks(actual: readonly (Book | undefined)[], expected: readonly Book[]): void {
  assert.equal(actual.length, expected.length)
  for (const [i, book] of expected.entries()) {
    const other = actual[i]
    assert.ok(other?.id === book.id && other.year === book.year, `book ${i}`)
    assert.ok(other.title === book.title && other.author === book.author, `texts of book ${i}`)
  }
}

export function assertAscending(ids: readonly number[]): void {
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(ids).size, ids.length)
}

/** Checks that these requests were refused, and no others. */
export function assertOnlyRefused(
  results: readonly PromiseSettledResult<unknown>[],
  isRefused: (index: number) => boolean,
): void {
  assert.deepEqual(
    results.map(({ status }) => status),
    results.map((_, i) => (isRefused(i) ? 'rejected' : 'fulfilled')),
  )
}

export const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** What is published on a channel until the end of the test. */
export function record(t: TestContext, channel: string): number[] {
  const messages: number[] = []
  const listen = (message: unknown) => void messages.push(message as number)
  subscribe(channel, listen)
  t.after(() => unsubscribe(channel, listen))
  return messages
}
