import type { Book } from '../book.ts'
import { type BookFilter, type BookQuery, BY_ID, type Position, type SortField } from '../book-query.ts'
import { hasWords, wordsOf } from '../words.ts'
import { Collection } from './page.ts'
import { collectStatistics } from './statistics.ts'
import type { Page, PageBounds, Statistics } from './store.ts'

/*
 * How words are searched where the server has no index of them: by reading all books that the other conditions let
 * through, part by part.
 */

/** What is read at once. */
const PART: PageBounds = { books: 1000, text: 64 * 1024 }

type ReadPage = (query: BookQuery, after: Position | undefined, bounds: PageBounds) => Promise<Page>

/** Books in an order, of which those are wanted that `has` lets through. */
interface Scan {
  readonly fields: readonly SortField[]
  readonly after: Position | undefined
  readonly whole: boolean
  has(book: Book): boolean
}

/** Reads a page as Store.page promises it. @param read does so for queries without words. */
export async function pageByScan(
  read: ReadPage,
  { filter: { words = [], ...filter }, order }: BookQuery,
  after: Position | undefined,
  bounds: PageBounds,
): Promise<Page> {
  const found = new Collection(bounds)
  for (const { fields, after: position, whole, has } of scans(order, after, words)) {
    for await (const book of booksOf(read, { filter, order: fields }, position)) {
      if (has(book)) found.add({ book, key: book }, whole)
      if (found.isComplete) return found.page(order)
    }
  }
  return found.page(order)
}

/** Counts as Store.count promises it. @param read reads pages of any query. */
export async function countByScan(read: ReadPage, filter: BookFilter): Promise<number> {
  let count = 0
  for await (const _ of booksOf(read, { filter, order: BY_ID }, undefined)) count++
  return count
}

/** Counts as Store.statistics promises it. @param read reads pages of any query. */
export function statisticsByScan(read: ReadPage, filter: BookFilter): Promise<Statistics> {
  return collectStatistics(booksOf(read, { filter, order: BY_ID }, undefined))
}

function scans(order: BookQuery['order'], after: Position | undefined, words: readonly string[]): Scan[] {
  if (order !== 'relevance')
    return [{ fields: order, after, whole: false, has: (book) => hasWords(book, words) }]
  const isWhole = ({ title, author }: Book) => {
    const own = new Set([...wordsOf(title), ...wordsOf(author)])
    return words.every((word) => own.has(word))
  }
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
  read: ReadPage,
  query: BookQuery,
  after: Position | undefined,
): AsyncGenerator<Book, void> {
  let position = after
  for (;;) {
    const page = await read(query, position, PART)
    yield* JSON.parse(`[${page.json}]`) as Book[]
    if (!page.more || page.last === undefined) return
    position = page.last
  }
}
