import { type Book, COLUMNS, type FieldValue } from './book.ts'
import type { BookQuery, Position } from './query.ts'
import type { Page, QueryOptions, Store } from './store.ts'

/** The first page is smaller, so that the response begins soon. */
const FIRST_PAGE_BOOKS = 128

type End = Pick<Page, 'last' | 'more'>

/** A page as it is sent to another thread. */
export interface SentPage extends End {
  readonly count: number
  readonly lines: string
}

/**
 * Makes a page of books that an engine has read.
 * @param books is emptied when the page is read. Database drivers keep their results until the next full garbage
 * collection, and V8 would spend a tenth of the time for a list on moving the books to its old generation.
 */
export function pageOf(books: Book[], { last, more }: End): Page {
  const { length: count } = books
  const take = () => books.splice(0)
  return {
    count,
    rows: () => take().map(rowOf),
    json: () => JSON.stringify(take()).slice(1, -1),
    lines: () =>
      take()
        .map((book) => JSON.stringify(book))
        .join('\n'),
    last,
    more,
  }
}

export function sentPage(page: Page): SentPage {
  const { count, last, more } = page
  return { count, lines: page.lines(), last, more }
}

/** The reverse of `sentPage()`. */
export function receivedPage({ lines, ...rest }: SentPage): Page {
  const json = () => lines.replaceAll('\n', ',')
  return { ...rest, rows: () => (JSON.parse(`[${json()}]`) as Book[]).map(rowOf), json, lines: () => lines }
}

const rowOf = (book: Book) => COLUMNS.map((name) => book[name])

/** @param row the values in the order of COLUMNS. */
export function bookOfRow(row: readonly FieldValue[]): Book {
  const book: Record<string, FieldValue | undefined> = {}
  for (let i = 0; i < COLUMNS.length; i++) book[COLUMNS[i] as string] = row[i]
  return book as unknown as Book
}

export function booksOf(page: Page): Book[] {
  return page.rows().map(bookOfRow)
}

/** Reads all books of a query after a position. Each page is read on demand, and none is empty. */
export function allPages(
  store: Pick<Store, 'page' | 'listBounds'>,
  query: BookQuery,
  after?: Position,
  options?: QueryOptions,
): AsyncIterable<Page> {
  let position = after
  let books = FIRST_PAGE_BOOKS
  let isAtEnd = false
  // Not an async generator: it would hold its last page while it is suspended. V8 would move that page to its old
  // generation, where it stays until a full garbage collection.
  const next = async (): Promise<IteratorResult<Page, undefined>> => {
    if (isAtEnd) return { done: true, value: undefined }
    const page = await store.page(query, position, { ...store.listBounds, books }, options)
    if (page.last === undefined) return { done: true, value: undefined }
    position = page.last
    isAtEnd = !page.more
    // Books are usually about as long as those before them, and a page that exceeds its bound of text costs more.
    books = page.count < books ? Math.ceil(books / 2) : Math.min(2 * books, store.listBounds.books)
    return { done: false, value: page }
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}
