import type { Book } from '../../src/catalogue/book.ts'
import type { Store } from '../../src/catalogue/store.ts'

/** The books of a page of the list, which is JSON without the brackets. */
export const booksOf = (page: string): Book[] => JSON.parse(`[${page}]`)

export async function listAll(store: Store): Promise<Book[]> {
  const books: Book[] = []
  for await (const page of store.list()) books.push(...booksOf(page))
  return books
}
