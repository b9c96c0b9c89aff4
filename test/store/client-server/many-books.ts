import type { Book } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'

export const bookNumber = (i: number) => ({ title: `title ${i}`, author: `author ${i}`, year: i })

/** Creates books at the same time, with the numbers from `first` on. */
export function createMany(store: Store, count: number, first = 0): Promise<Book[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => store.create(bookNumber(first + i))))
}

/** Finds the statements that wait for the lock of a book. */
export const WAITING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  // The server does not tell apart waiting for a row from reading it.
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE'`,
}
