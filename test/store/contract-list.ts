import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Book } from '../../src/catalogue/book.ts'
import { framings, wholeLists } from '../../src/files/write-books.ts'
import { hostileBooks } from '../files/hostile-books.ts'
import { booksOf, listAll } from './pages.ts'
import { type TestStore, useStore } from './use-store.ts'

const MIB = 1024 * 1024
const BOOK = { title: 'T', author: 'A', year: 1 }

/** What "bounded size" may come to at most: a page may be longer by one book than so many characters. */
const PAGE_BOUND = 128 * 1024

/** More lists than any engine has connections. */
const MANY_LISTS = 50

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

  async function pages(): Promise<string[]> {
    const pages: string[] = []
    for await (const page of opened.store.list()) pages.push(page)
    return pages
  }

  const ids = (books: readonly Book[]) => books.map(({ id }) => id)

  it('has no page when there is no book', async () => {
    assert.deepEqual(await pages(), [])
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

  it('writes books as JSON.stringify does, whatever is in them', async () => {
    const control = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, i) => i + 1))
    const books = [...fc.sample(hostileBooks, { numRuns: 60, seed: 2 }).flat(), { ...BOOK, title: control }]
    const created = await Promise.all(books.map((book) => opened.store.create(book)))
    const texts = created.toSorted((a, b) => a.id - b.id).map((book) => JSON.stringify(book))
    assert.equal((await pages()).join(','), texts.join(','))
  })

  it('has the same books as lines of CSV, in pages that need not be those of JSON', async () => {
    const books = fc.sample(hostileBooks, { numRuns: 60, seed: 1 }).flat()
    await Promise.all(books.map((book) => opened.store.create(book)))
    const fromJson = (await pages()).map((page) => framings.csv.render(page)).join('')
    let csv = ''
    let lines = 0
    for await (const page of opened.store.list('csv')) {
      csv += page
      lines += wholeLists.csv.booksIn(page)
    }
    assert.equal(csv, fromJson)
    assert.equal(lines, books.length)
  })

  for (const [count, length] of [
    [5000, 1],
    [300, 10_000],
    [12, MIB],
  ] as const) {
    it(`has ${count} books with titles of ${length} characters in pages of bounded size, none empty`, async () => {
      const books = await fill(count, 'x'.repeat(length))
      const read = await pages()
      const longestBook = JSON.stringify(books.at(-1)).length
      for (const page of read) {
        assert.ok(booksOf(page).length > 0)
        assert.ok(page.length <= PAGE_BOUND + longestBook, `${page.length} characters`)
      }
      assert.deepEqual(ids(read.flatMap(booksOf)), ids(books))
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
    for await (const text of opened.store.list()) {
      const page = booksOf(text)
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

  it('can be read however long the reader takes for a page', async (t) => {
    const books = await fill(4, 'x'.repeat(PAGE_BOUND))
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const read: Book[] = []
    for await (const page of opened.store.list()) {
      // An answer begins with two pages.
      if (read.push(...booksOf(page)) === 2) t.mock.timers.tick(10_000)
    }
    assert.deepEqual(ids(read), ids(books))
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

  it('releases what it holds when it is abandoned after a page', async () => {
    await fill(3, 'x'.repeat(PAGE_BOUND))
    for (let i = 0; i < MANY_LISTS; i++) {
      for await (const page of opened.store.list()) {
        assert.ok(booksOf(page).length < 3)
        break
      }
    }
    await assertUsable()
  })

  it('holds nothing before it is read', async () => {
    await fill(1)
    for (let i = 0; i < MANY_LISTS; i++) opened.store.list()
    for (let i = 0; i < MANY_LISTS; i++) await opened.store.list()[Symbol.asyncIterator]().return?.()
    await assertUsable()
  })

  /** A write, a whole list, close and reopen. */
  async function assertUsable(): Promise<void> {
    const { id } = await opened.store.create({ title: 'T', author: 'A', year: 1 })
    const count = (await listAll(opened.store)).length
    await opened.reopen()
    assert.equal((await listAll(opened.store)).length, count)
    assert.equal(await opened.store.delete(id), true)
  }
}
