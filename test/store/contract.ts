import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import { importContract } from './contract-import.ts'
import { listContract } from './contract-list.ts'
import { queryContract } from './contract-query.ts'
import { listAll, plain } from './pages.ts'
import { type TestData, useSharedStore } from './use-store.ts'

/**
 * What src/catalogue/store.ts promises of every engine.
 * @param prepare gives every test data of its own.
 */
export function storeContract(engine: string, prepare: () => Promise<TestData>): void {
  describe(`the store on ${engine}: books`, () => booksContract(prepare))
  describe(`the store on ${engine}: the list`, () => listContract(prepare))
  describe(`the store on ${engine}: queries`, () => queryContract(prepare))
  describe(`the store on ${engine}: imports`, () => importContract(prepare))
}

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

/** Texts that a database, its driver or its encoding might change. Those that it might take for equal are neighbours. */
const TEXTS = [
  ...'| |  |x | x|X|x\t|x|x\n|\uff58|x\u200b|\ufeffx|x\u0001|x\r\ny|\u001b\u007f\u0085'.split('|'),
  ...`'|''|"|\\'|\\|\\\\|'); DROP TABLE books; --|x'), ('y|? $1 :a @b %s|%|_|{}|{NULL,"x"}|,`.split('|'),
  ...'01|1.0|1|1e0|0x31|-1|NULL|null'.split('|'),
  ...'a|ä|Ä|é|e\u0301|e|straße|strasse|İ|i|ı'.split('|'),
  ...'📚|📖|👍|👍🏽|👩‍👩‍👧🏳️‍🌈|\u202eأبجد\u202c|\u2028|\u2029|\ufffd|\ufffe\uffff|\u{10ffff}'.split('|'),
]

/** How far from each other those may be that it might take for equal. */
const DISTANCE = 5

const LARGEST = Number.MAX_SAFE_INTEGER
const YEARS = [LARGEST, -LARGEST, 0, 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 24 + 1]

/**
 * Single books: how they are created, found, changed and deleted. What clients see of it, and of races, is tested by
 * test/spec on every engine.
 */
export function booksContract(prepare: () => Promise<TestData>): void {
  const opened = useSharedStore(prepare)

  const find = async (id: number) => {
    const book = await opened.store.find(id)
    return book && { ...book }
  }
  const createAll = async (books: readonly NewBook[]) =>
    plain(await Promise.all(books.map((book) => opened.store.create(book))))

  it('finds, updates and deletes nothing under an id that no book has, also beside those that are there', async () => {
    const { store } = opened
    const books = await createAll(Array(5).fill(BOOK))
    const missing = [1, 2 ** 31, 2 ** 32, LARGEST - 2 ** 40].map((far) => far + (books.at(-1)?.id ?? 0))
    const ids = books.flatMap(({ id }, i) => [id, missing[i] ?? LARGEST])
    const isThere = (i: number) => i % 2 === 0
    const found = await Promise.all(ids.map((id) => store.find(id)))
    for (const [i, book] of found.entries()) assert.equal(book?.id, isThere(i) ? ids[i] : undefined)
    for (const expected of [undefined, BOOK])
      for (const changes of [{}, { author: BOOK.author }]) {
        const updates = ids.map((id) => store.update(id, changes, expected && { id, ...expected }))
        for (const [i, book] of (await Promise.all(updates)).entries())
          assert.equal(book?.id, isThere(i) ? ids[i] : undefined)
      }
    const isAsExpected = (i: number) => i % 4 === 0
    const deletions = ids.map((id, i) =>
      store.delete(id, { id, ...BOOK, year: isAsExpected(i) ? BOOK.year : 1 }),
    )
    assert.deepEqual(
      await Promise.all(deletions),
      ids.map((_, i) => isAsExpected(i)),
    )
    for (const [i, book] of books.entries())
      assert.deepEqual(await find(book.id), i % 2 === 0 ? undefined : book)
  })

  /** Checks that no write happens where these are expected, and that the books stay as they are. */
  async function assertRefused(stored: readonly Book[], expected: readonly Book[]): Promise<void> {
    const { store } = opened
    for (const refused of await Promise.all([
      ...stored.map(({ id }, i) => store.update(id, { title: 'refused' }, expected[i])),
      ...stored.map(({ id }, i) => store.update(id, {}, expected[i])),
    ]))
      assert.equal(refused, undefined)
    const deletions = stored.map(({ id }, i) => store.delete(id, expected[i]))
    for (const isDeleted of await Promise.all(deletions)) assert.equal(isDeleted, false)
    // Not deepEqual, which would print long texts.
    for (const { id, ...book } of stored)
      assert.ok(JSON.stringify(await find(id)) === JSON.stringify({ id, ...book }), `book ${id}`)
  }

  it('stores any text and year as it is, and overlooks no difference from the book that is expected', async () => {
    const { store } = opened
    const books = TEXTS.map((title, i) => ({
      title,
      author: TEXTS.at(-i) ?? '',
      year: YEARS[i % YEARS.length] ?? 0,
    }))
    const stored = await createAll(books)
    assert.deepEqual(
      stored.map(({ id: _, ...book }) => book),
      books,
    )
    assert.deepEqual(plain(await Promise.all(stored.map(({ id }) => store.find(id)))), stored)
    const neighbour = (year: number) => (year > 0 ? year - 1 : year + 1)
    await assertRefused(
      stored,
      stored.map((book) => ({ ...book, year: neighbour(book.year) })),
    )
    for (let distance = 1; distance <= DISTANCE; distance++) {
      const text = (i: number) => TEXTS.at(i % TEXTS.length) ?? ''
      const refused = await Promise.all([
        ...stored.map((book, i) => store.delete(book.id, { ...book, title: text(i + distance) })),
        ...stored.map((book, i) => store.delete(book.id, { ...book, author: text(-i - distance) })),
      ])
      assert.ok(!refused.includes(true), `${distance}`)
    }
    const swapped = stored.map(({ id, title, author, year }) => ({
      id,
      title: author,
      author: title,
      year: neighbour(year),
    }))
    await assertRefused(
      stored.filter(({ title, author }) => title !== author),
      swapped.filter(({ title, author }) => title !== author),
    )
    const updates = swapped.map((book, i) => store.update(book.id, book, stored[i]))
    assert.deepEqual(plain(await Promise.all(updates)), swapped)
    const ids = new Set(stored.map(({ id }) => id))
    assert.deepEqual(
      plain(await listAll(store)).filter(({ id }) => ids.has(id)),
      swapped.toSorted((a, b) => a.id - b.id),
    )
    const deletions = await Promise.all(swapped.map((book) => store.delete(book.id, book)))
    assert.ok(deletions.every((isDeleted) => isDeleted))
  })

  it('does the same with long texts that differ in their last character', async () => {
    const MIB = 1024 * 1024
    const stored = await createAll([
      { title: 'x'.repeat(MIB), author: '📚'.repeat(MIB / 4), year: 1 },
      { title: "\\'".repeat(50_000), author: '\n'.repeat(50_000), year: 1 },
      // The servers read books of up to 32 KiB together.
      ...[-2, -1, 0, 1].map((more) => ({ title: 'x'.repeat(32 * 1024 + more), author: 'é', year: 1 })),
      ...[-1, 0, 1].map((more) => ({ title: 'x', author: 'é'.repeat(16 * 1024 + more), year: 1 })),
    ])
    const found = await Promise.all(stored.map(({ id }) => opened.store.find(id)))
    assert.ok(found.every((book, i) => JSON.stringify(book) === JSON.stringify(stored[i])))
    for (const field of ['title', 'author'] as const) {
      const other = stored.map((book) => ({ ...book, [field]: book[field].replace(/.$/su, 'y') }))
      await assertRefused(stored, other)
      const updates = other.map((book, i) =>
        opened.store.update(book.id, { [field]: book[field] }, stored[i]),
      )
      for (const [i, book] of (await Promise.all(updates)).entries())
        assert.ok(book?.[field] === other[i]?.[field])
      stored.splice(0, stored.length, ...other)
    }
    for (const book of stored) assert.equal(await opened.store.delete(book.id, book), true)
  })
}
