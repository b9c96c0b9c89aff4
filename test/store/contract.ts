import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import { importContract } from './contract-import.ts'
import { queryContract } from './contract-query.ts'
import { plain } from './pages.ts'
import { type TestData, useStore } from './use-store.ts'

/**
 * What src/catalogue/store.ts promises of every engine.
 * @param prepare gives every test data of its own.
 */
export function storeContract(engine: string, prepare: () => Promise<TestData>): void {
  describe(`the store on ${engine}: books`, () => booksContract(prepare))
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
  const opened = useStore(prepare)

  const find = async (id: number) => {
    const book = await opened.store.find(id)
    return book && { ...book }
  }
  const createAll = async (books: readonly NewBook[]) =>
    plain(await Promise.all(books.map((book) => opened.store.create(book))))

  it('finds, updates and deletes nothing under an id that no book has, also beside those that are there', async () => {
    const { store } = opened
    const books = await createAll(Array(4).fill(BOOK))
    const highest = Math.max(...books.map(({ id }) => id))
    const missing = [1, 2 ** 31, 2 ** 32, LARGEST - 2 ** 40].map((far) => far + highest)
    const ids = books.flatMap(({ id }, i) => [id, missing[i] ?? LARGEST])
    const there = ids.map((id) => (missing.includes(id) ? undefined : id))
    const idsOf = async (results: Promise<Book | undefined>[]) =>
      (await Promise.all(results)).map((book) => book?.id)
    assert.deepEqual(await idsOf(ids.map((id) => store.find(id))), there)
    for (const expected of [undefined, BOOK])
      for (const changes of [{}, { author: BOOK.author }]) {
        const updates = ids.map((id) => store.update(id, changes, expected && { id, ...expected }))
        assert.deepEqual(await idsOf(updates), there)
      }
    const year = (i: number) => (i % 4 === 0 ? BOOK.year : 1)
    const deletions = ids.map((id, i) => store.delete(id, { id, ...BOOK, year: year(i) }))
    const isDeleted = ids.map((_, i) => i % 4 === 0)
    assert.deepEqual(await Promise.all(deletions), isDeleted)
    assert.deepEqual(
      await idsOf(ids.map((id) => store.find(id))),
      there.map((id, i) => (isDeleted[i] ? undefined : id)),
    )
  })

  /** Checks that no write happens where these are expected, and that the books stay as they are. */
  async function assertRefused(stored: readonly Book[], expected: readonly Book[]): Promise<void> {
    const { store } = opened
    for (const changes of [{ title: 'refused' }, {}]) {
      const updates = stored.map(({ id }, i) => store.update(id, changes, expected[i]))
      for (const updated of await Promise.all(updates)) assert.equal(updated, undefined)
    }
    const deletions = stored.map(({ id }, i) => store.delete(id, expected[i]))
    for (const isDeleted of await Promise.all(deletions)) assert.equal(isDeleted, false)
    // Not deepEqual, which would print long texts.
    for (const { id, ...book } of stored)
      assert.ok(JSON.stringify(await find(id)) === JSON.stringify({ id, ...book }), `book ${id}`)
  }

  it('overlooks no difference from the book that is expected, whatever the texts and the year', async () => {
    const { store } = opened
    const stored = await createAll(
      TEXTS.map((title, i) => ({
        title,
        author: TEXTS.at(-i) ?? '',
        year: YEARS[i % YEARS.length] ?? 0,
      })),
    )
    for (let distance = 1; distance <= DISTANCE; distance++) {
      const text = (i: number) => TEXTS.at(i % TEXTS.length) ?? ''
      const refused = await Promise.all([
        ...stored.map((book, i) => store.delete(book.id, { ...book, title: text(i + distance) })),
        ...stored.map((book, i) => store.delete(book.id, { ...book, author: text(-i - distance) })),
      ])
      assert.ok(!refused.includes(true), `${distance}`)
    }
    const changed = stored.map((book) => ({ ...book, year: book.year > 0 ? book.year - 1 : book.year + 1 }))
    await assertRefused(stored, changed)
    const updates = changed.map((book, i) => store.update(book.id, book, stored[i]))
    assert.deepEqual(plain(await Promise.all(updates)), changed)
    const deletions = await Promise.all(changed.map((book) => store.delete(book.id, book)))
    assert.ok(deletions.every((isDeleted) => isDeleted))
  })

  it('does the same with long texts that differ in their last character', async () => {
    const MIB = 1024 * 1024
    const stored = await createAll([
      { title: 'x'.repeat(MIB), author: '📚'.repeat(MIB / 4), year: 1 },
      { title: "\\'".repeat(50_000), author: '\n'.repeat(50_000), year: 1 },
      // The servers read books of up to 32 KiB together.
      ...[-2, -1, 0, 1].map((more) => ({ title: 'x'.repeat(32 * 1024 + more), author: 'é', year: 1 })),
    ])
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
