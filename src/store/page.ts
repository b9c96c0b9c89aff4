import type { Book } from '../book.ts'
import { type BookQuery, type Position, positionOf, type SortField } from '../book-query.ts'
import { type Condition, type Dialect, type Run, runs, type Value } from './query-sql.ts'
import type { Page, PageBounds } from './store.ts'

/** A book that was found. */
export interface Found {
  readonly book: Book
  /** What decided on its place. Another than the book itself where an index may be a moment older. */
  readonly key: Book
}

/** Where an engine reads the books of a query. */
export interface Source {
  readonly dialect: Dialect
  /**
   * @param books at most so many of them, in the order of the run.
   * @param text the last of them is the one with which the titles and authors have so many bytes, in UTF-8.
   */
  read(run: Run, books: number, text: number): Promise<Found[]>
  /** The key of the field of the book that is the `number`th, from 1, of those with the condition, by that field. */
  keyAt(condition: Condition, field: SortField, number: number): Promise<Value | undefined>
}

/** Reads a page as Store.page promises it. */
export async function readPage(
  source: Source,
  query: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
): Promise<Page> {
  const found: (Found & Pick<Run, 'whole'>)[] = []
  let text = bounds.text
  // One more than is asked for, to know whether there are more.
  const wanted = () => bounds.books + 1 - found.length
  const keyAhead = (condition: Condition, field: SortField) => source.keyAt(condition, field, wanted())
  for await (const run of runs(query, after, source.dialect, keyAhead)) {
    for (const { book, key } of await source.read(run, wanted(), text)) {
      found.push({ book, key, whole: run.whole })
      text -= Buffer.byteLength(book.title) + Buffer.byteLength(book.author)
    }
    if (wanted() === 0 || text <= 0) break
  }
  const more = wanted() === 0 || text <= 0
  // The one that is too many; a single book always has room.
  if (more && found.length > 1) found.pop()
  const last = found.at(-1)
  return {
    json: JSON.stringify(found.map(({ book }) => book)).slice(1, -1),
    last: last && positionOf(last.key, query.order, last.whole),
    more,
  }
}
