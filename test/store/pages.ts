import type { Book } from '../../src/catalogue/book.ts'
import { allPages, booksOf } from '../../src/catalogue/page.ts'
import { ALL_BOOKS } from '../../src/catalogue/query.ts'
import type { ImportedBook, Page, Store } from '../../src/catalogue/store.ts'

export { booksOf }

/** The pages of the list of all books. */
export const listPages = (store: Store): AsyncIterable<Page> => allPages(store, ALL_BOOKS)

export async function listAll(store: Store): Promise<Book[]> {
  const books: Book[] = []
  for await (const page of listPages(store)) books.push(...booksOf(page))
  return books
}

/** Books for an import. */
export async function* inGroups(
  books: readonly ImportedBook[],
  size = 1000,
): AsyncGenerator<readonly ImportedBook[]> {
  for (let i = 0; i < books.length; i += size) yield books.slice(i, i + size)
}

/** The books as plain objects; engines make objects of several prototypes. */
export const plain = (books: readonly (Book | undefined)[]) => books.map((book) => ({ ...(book as Book) }))
