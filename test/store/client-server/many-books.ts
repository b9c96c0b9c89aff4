import type { Book } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import type { Session } from '../../faults/engine-servers.ts'

export const bookNumber = (i: number) => ({ title: `title ${i}`, author: `author ${i}`, year: i })

/** Creates books at the same time, with the numbers from `first` on. */
export function createMany(store: Store, count: number, first = 0): Promise<Book[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => store.create(bookNumber(first + i))))
}

/** Locks books until the transaction of the session ends. One by one, so that MySQL locks no others. */
export async function lockBooks(session: Session, ...books: readonly Book[]): Promise<void> {
  await session.run('BEGIN')
  for (const { id } of books) await session.run(`SELECT id FROM books WHERE id = ${id} FOR UPDATE`)
}
