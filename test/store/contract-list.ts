import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { ALL_BOOKS } from '../../src/catalogue/query.ts'
import type { Page } from '../../src/catalogue/store.ts'
import { hostileBooks } from '../files/hostile-books.ts'
import { booksOf, inGroups, listPages } from './pages.ts'
import { type TestData, useStore } from './use-store.ts'

const MIB = 1024 * 1024
const BOOK = { title: 'T', author: 'A', year: 1 }

/** The list of all books: its order, its pages, and their forms. */
export function listContract(prepare: () => Promise<TestData>): void {
  const opened = useStore(prepare)

  /** What is read of each page of the list. */
  async function pages<Result>(read: (page: Page) => Result): Promise<Result[]> {
    const results: Result[] = []
    for await (const page of listPages(opened.store)) results.push(read(page))
    return results
  }

  it('has as many books in a page as asked for, and says whether more follow', async () => {
    const { store } = opened
    const ids: number[] = []
    for (let i = 0; i < 5; i++) ids.push((await store.create(BOOK)).id)
    const page = async (after: number, books: number) => {
      const found = await store.page(ALL_BOOKS, [after], { books, text: MIB })
      return [booksOf(found).map(({ id }) => id), found.count, found.last, found.more]
    }
    const [second = 0, last = 0] = [ids[1], ids[4]]
    assert.deepEqual(await page(0, 2), [ids.slice(0, 2), 2, [second], true])
    assert.deepEqual(await page(second, 3), [ids.slice(2), 3, [last], false])
    assert.deepEqual(await page(second, 4), [ids.slice(2), 3, [last], false])
    assert.deepEqual(await page(last, 1), [[], 0, undefined, false])
  })

  it('has the same books as JSON, as lines of JSON and as values, whatever is in them', async () => {
    const control = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, i) => i + 1))
    const books = [...fc.sample(hostileBooks, { numRuns: 60, seed: 2 }).flat(), { ...BOOK, title: control }]
    const created = await Promise.all(books.map((book) => opened.store.create(book)))
    const expected = created.toSorted((a, b) => a.id - b.id)
    const texts = expected.map((book) => JSON.stringify(book))
    assert.equal((await pages((page) => page.json())).join(','), texts.join(','))
    assert.equal((await pages((page) => page.lines())).join('\n'), texts.join('\n'))
    const rows = await pages((page) => page.rows())
    assert.deepEqual(
      rows.flat(),
      expected.map(({ id, title, author, year }) => [id, title, author, year]),
    )
    assert.deepEqual(
      rows.map(({ length }) => length),
      await pages((page) => page.count),
    )
  })

  it('has many books, and long ones, in pages of bounded size, none of them empty', async () => {
    const sizes = [5000, 300, 12].flatMap((count, i) => Array<number>(count).fill([1, 10_000, MIB][i] ?? 0))
    const long = sizes.map((size, year) => ({ ...BOOK, title: 'x'.repeat(size), year }))
    await opened.store.import(inGroups(long))
    const years: number[] = []
    const { text, books: count } = opened.store.listBounds
    // Beside one book that exceeds the bound. 100 characters of each book are not text.
    const bound = text + 100 * count + 100
    for (const json of await pages((page) => page.json())) {
      const books: { title: string; year: number }[] = JSON.parse(`[${json}]`)
      const longest = Math.max(...books.map(({ title }) => title.length))
      assert.ok(books.length > 0 && json.length <= bound + longest, `${json.length} characters`)
      years.push(...books.map(({ year }) => year))
    }
    assert.deepEqual(years, [...sizes.keys()])
  })
}
