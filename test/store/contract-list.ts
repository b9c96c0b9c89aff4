import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Book } from '../../src/catalogue/book.ts'
import { STREAM_PAGE } from '../../src/catalogue/page.ts'
import { ALL_BOOKS } from '../../src/catalogue/query.ts'
import type { Page } from '../../src/catalogue/store.ts'
import { hostileBooks } from '../files/hostile-books.ts'
import { booksOf, listAll, listPages } from './pages.ts'
import { type TestStore, useStore } from './use-store.ts'

const MIB = 1024 * 1024
const BOOK = { title: 'T', author: 'A', year: 1 }

/** The most that the JSON of a page may come to, in characters, beside one book: 100 of each book are not text. */
const PAGE_BOUND = STREAM_PAGE.text + 100 * STREAM_PAGE.books

/** The list of all books: its order, its pages, and what goes on meanwhile. */
export function listContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  /** Creates books in batches, so that an engine that shares commits is quick. */
  async function fill(count: number, title = 'T'): Promise<Book[]> {
    const books: Book[] = []
    while (books.length < count) {
      const batch = Array.from({ length: Math.min(100, count - books.length) }, () =>
        opened.store.create({ ...BOOK, title }),
      )
      books.push(...(await Promise.all(batch)))
    }
    return books.toSorted((a, b) => a.id - b.id)
  }

  /** What is read of each page of the list. */
  async function pages<Result>(read: (page: Page) => Result): Promise<Result[]> {
    const results: Result[] = []
    for await (const page of listPages(opened.store)) results.push(read(page))
    return results
  }

  const ids = (books: readonly Book[]) => books.map(({ id }) => id)

  it('has no page when there is no book', async () => {
    assert.deepEqual(await pages(booksOf), [])
  })

  it('has every book in the order of ids, whatever was changed and deleted before', async () => {
    const [first, second, third, fourth] = await fill(4)
    assert.ok(first && second && third && fourth)
    await opened.store.update(fourth.id, { title: '' })
    await opened.store.update(first.id, { title: 'Z', year: 9999 })
    await opened.store.delete(second.id)
    const fifth = await opened.store.create({ title: 'A', author: 'A', year: -1 })
    const expected = [{ ...first, title: 'Z', year: 9999 }, third, { ...fourth, title: '' }, fifth]
    assert.deepEqual(
      await listAll(opened.store),
      expected.map((book) => ({ ...book })),
    )
  })

  it('has as many books in a page as asked for, and says whether more follow', async () => {
    const books = await fill(5)
    const { store } = opened
    const page = async (after: number, books: number) => {
      const found = await store.page(ALL_BOOKS, [after], { books, text: MIB })
      return [ids(booksOf(found)), found.count, found.last, found.more]
    }
    const [first = 0, second = 0, , , last = 0] = ids(books)
    assert.deepEqual(await page(0, 2), [[first, second], 2, [second], true])
    assert.deepEqual(await page(second, 3), [ids(books.slice(2)), 3, [last], false])
    assert.deepEqual(await page(second, 4), [ids(books.slice(2)), 3, [last], false])
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

  for (const [count, length] of [
    [5000, 1],
    [300, 10_000],
    [12, MIB],
  ] as const) {
    it(`has ${count} books with titles of ${length} characters in pages of bounded size, none empty`, async () => {
      const books = await fill(count, 'x'.repeat(length))
      const longestBook = JSON.stringify(books.at(-1)).length
      const read = await pages((page) => page.json())
      for (const json of read) {
        assert.notEqual(json, '')
        assert.ok(json.length <= PAGE_BOUND + longestBook, `${json.length} characters`)
      }
      assert.deepEqual(ids(JSON.parse(`[${read}]`)), ids(books))
    })
  }

  it('neither repeats nor hides a book because others come and go meanwhile', async () => {
    const books = await fill(4000, 'x'.repeat(100))
    const seen: Book[] = []
    const deleted = new Set<number>()
    const added = new Set<number>()
    const last = books.at(-1)
    assert.ok(last)
    let reads = 0
    for await (const each of listPages(opened.store)) {
      const page = booksOf(each)
      seen.push(...page)
      reads++
      // The books at the edges of this page, one far ahead, and a new one; the first time a change far ahead too.
      const ahead = books.findLast(({ id }) => id < last.id && !deleted.has(id))
      for (const book of [page[0], page.at(-1), ahead]) {
        if (book === undefined || book.id === last.id) continue
        await opened.store.delete(book.id)
        deleted.add(book.id)
      }
      if (reads === 1) await opened.store.update(last.id, { title: 'changed' })
      if (reads <= 3) added.add((await opened.store.create({ title: 'new', author: 'A', year: 1 })).id)
    }
    assert.ok(reads > 1, 'the list was read while it changed')
    const seenIds = ids(seen)
    assert.deepEqual(
      seenIds,
      seenIds.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(seenIds).size, seenIds.length, 'no book twice')
    const lasting = ids(books).filter((id) => !deleted.has(id))
    assert.deepEqual(
      seenIds.filter((id) => !deleted.has(id) && !added.has(id)),
      lasting,
    )
    assert.equal(
      seen.find(({ id }) => id === last.id)?.title,
      'changed',
      'a page is read when it is asked for',
    )
  })

  it('can be read several times at once', async () => {
    const books = await fill(20, 'x'.repeat(PAGE_BOUND))
    for (const read of await Promise.all([
      listAll(opened.store),
      listAll(opened.store),
      listAll(opened.store),
    ])) {
      assert.deepEqual(ids(read), ids(books))
    }
  })
}
