import type { Book } from '../catalogue/book.ts'
import { walk } from '../catalogue/paginate.ts'
import { type BookFilter, type BookQuery, BY_ID, type Position, type SortField } from '../catalogue/query.ts'
import { hasWholeWords, hasWords } from '../catalogue/search-words.ts'
import type { Page, PageBounds, QueryOptions, Statistics, Store } from '../catalogue/store.ts'
import { Collection } from './query/page-reader.ts'
import { collectStatistics } from './query/statistics.ts'

/*
 * How words are searched where the server has no index of them: by reading all books that the other conditions let
 * through, part by part.
 */

type Pages = Pick<Store, 'page'>

/** Books in an order, of which those are wanted that `has` lets through. */
interface Scan {
  readonly fields: readonly SortField[]
  readonly after: Position | undefined
  readonly whole: boolean
  has(book: Book): boolean
}

/** Reads a page as Store.page promises it. @param pages of queries without words. */
export async function pageByScan(
  pages: Pages,
  { filter: { words = [], ...filter }, order }: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
  options?: QueryOptions,
): Promise<Page> {
  const found = new Collection(bounds)
  for (const { fields, after: position, whole, has } of scans(order, after, words)) {
    for await (const book of booksOf(pages, { filter, order: fields }, position, options)) {
      if (has(book)) found.add({ book, key: book }, whole)
      if (found.isComplete) return found.page(order)
    }
  }
  return found.page(order)
}

/** Counts as Store.count promises it. @param pages of any query. */
export async function countByScan(pages: Pages, filter: BookFilter, options?: QueryOptions): Promise<number> {
  let count = 0
  for await (const _ of booksOf(pages, { filter, order: BY_ID }, undefined, options)) count++
  return count
}

/** Counts as Store.statistics promises it. @param pages of any query. */
export function statisticsByScan(
  pages: Pages,
  filter: BookFilter,
  options?: QueryOptions,
): Promise<Statistics> {
  return collectStatistics(booksOf(pages, { filter, order: BY_ID }, undefined, options))
}

function scans(order: BookQuery['order'], after: Position | undefined, words: readonly string[]): Scan[] {
  if (order !== 'relevance')
    return [{ fields: order, after, whole: false, has: (book) => hasWords(book, words) }]
  const isWhole = (book: Book) => hasWholeWords(book, words)
  const [rank = 0, ...id] = after ?? []
  const first: Scan = { fields: BY_ID, after: after && id, whole: true, has: isWhole }
  const second: Scan = {
    fields: BY_ID,
    after: rank === 0 ? undefined : id,
    whole: false,
    has: (book) => hasWords(book, words) && !isWhole(book),
  }
  return rank === 0 ? [first, second] : [second]
}

async function* booksOf(
  pages: Pages,
  query: BookQuery,
  after: Position | undefined,
  options?: QueryOptions,
): AsyncGenerator<Book, void> {
  for await (const page of walk(pages, query, after, options)) yield* JSON.parse(`[${page}]`) as Book[]
}
