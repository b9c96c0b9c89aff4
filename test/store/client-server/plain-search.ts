import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Book } from '../../../src/catalogue/book.ts'
import type { BookFilter, BookQuery, Position, SortField } from '../../../src/catalogue/query.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import { until } from '../../faults/engine-servers.ts'
import { booksOf, listAll } from '../pages.ts'
import { responseOf, searchFor, statisticsOf } from '../query-model.ts'

export const PLENTY = { books: 1000, text: 1024 * 1024 }

/** Titles that each version of the words and sort keys treats in a way of its own. */
export const TITLES = 'zèbre|Été|ete|The Stranger|L’Étranger|Die|Der Zauberberg|???||백년의 고독|백년'.split(
  '|',
)

const AUTHORS = ['Éluard', 'eluard', 'Zola']

export const bookOf = (title: string, i: number) => ({ title, author: AUTHORS[i % 3] ?? '', year: i })

/** A statement that adds books as another program does. */
export function insert(titles: readonly string[]): string {
  const values = titles.map(bookOf).map(({ title, author, year }) => `('${title}', '${author}', ${year})`)
  return `INSERT INTO books (title, author, year) VALUES ${values.join(', ')}`
}

export const by = (name: SortField['name'], descending = false): BookQuery => ({
  filter: {},
  order: [
    { name, descending },
    { name: 'id', descending },
  ],
})

export const ORDERS = [by('title'), by('title', true), by('author'), by('author', true)]

const SEARCHES = ['zebre', 'ete', 'stranger', '고독', 'eluard', 'old', 'others'].map(searchFor)

/** All books of a query, from page to page, and how many pages may have missed some. */
export async function walk(store: Store, query: BookQuery, limit = 7) {
  const books: Book[] = []
  let incomplete = 0
  for (let after: Position | undefined; ; ) {
    const onIncomplete = () => incomplete++
    const page = await store.page(query, after, { ...PLENTY, books: limit }, { onIncomplete })
    books.push(...booksOf(page))
    if (!page.more) return { books, incomplete }
    after = page.last
  }
}

/** Compares lists and searches with a plain search of all books, once the last writes of others are sorted. */
export async function assertComplete(store: Store): Promise<void> {
  const all = await listAll(store)
  for (const query of [...SEARCHES, ...ORDERS]) {
    const expected = { books: responseOf(all, query), incomplete: 0 }
    await until(`the plain search is equal: ${JSON.stringify(query)}`, async () =>
      isDeepStrictEqual(await walk(store, query), expected),
    )
  }
  await assertExact(store, all)
}

/** Compares filters, counts and statistics, which have to be right also while sort keys are missing. */
export async function assertExact(store: Store, all: readonly Book[]): Promise<void> {
  const filters: BookFilter[] = [
    {},
    ...TITLES.map((title) => ({ title })),
    { author: 'eluard' },
    { author: 'Éluard' },
  ]
  const byAuthor = (a: { author: string }, b: { author: string }) => (a.author < b.author ? -1 : 1)
  for (const filter of filters) {
    const books = responseOf(all, { ...by('id'), filter })
    assert.equal(await store.count(filter), books.length)
    assert.deepEqual((await walk(store, { ...by('id'), filter }, 1000)).books, books)
    const { authors, decades } = await store.statistics(filter)
    const expected = statisticsOf(books)
    assert.deepEqual(decades, expected.decades)
    // Authors with equally many books are sorted by code point while keys are missing.
    assert.deepEqual(authors.toSorted(byAuthor), expected.authors.toSorted(byAuthor))
  }
}
