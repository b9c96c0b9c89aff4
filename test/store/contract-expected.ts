import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import { type TestStore, useStore } from './use-store.ts'

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

/** Who change one book at once; more than any engine has connections. */
const RACERS = 50

/** Texts that some comparison takes for equal, by what it would overlook. */
const ALIKE: Readonly<Record<string, readonly [string, string]>> = {
  'a space at the end': ['x', 'x '],
  'spaces only': ['', ' '],
  'a tab at the end': ['x', 'x\t'],
  'a space before': ['x', ' x'],
  'a line break at the end': ['x', 'x\n'],
  case: ['Dune', 'dune'],
  'case beyond ASCII': ['Ärger', 'ärger'],
  accents: ['resume', 'résumé'],
  composition: ['é', 'e\u0301'],
  'sharp s': ['straße', 'strasse'],
  'width of letters': ['x', '\uff58'],
  'what is not seen': ['x', 'x\u200b'],
  'a byte order mark': ['x', '\ufeffx'],
  'control characters': ['x', 'x\u0001'],
  emoji: ['📚', '📖'],
  'skin tones': ['👍', '👍🏽'],
  'a number': ['1', '1.0'],
  'a number with a zero before': ['1', '01'],
  'a text for its beginning': ['x'.repeat(100_000), `${'x'.repeat(99_999)}y`],
  backslashes: ['\\', '\\\\'],
  'wildcards of LIKE': ['%', 'x'],
}

const YEARS = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 2 ** 31, -(2 ** 31) - 1, 2 ** 24 + 1]

/** Compare and swap: a write that happens only to the book that is expected. */
export function expectedContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  const find = async (id: number) => {
    const book = await opened.store.find(id)
    return book && { ...book }
  }

  /** Checks that neither write happens where this is expected, and that it leaves the book as it is. */
  async function assertRefused(stored: Book, expected: Book, difference = 'a field'): Promise<void> {
    assert.equal(await opened.store.update(stored.id, { year: 1 }, expected), undefined, difference)
    assert.equal(await opened.store.update(stored.id, {}, expected), undefined, difference)
    assert.equal(await opened.store.delete(stored.id, expected), false, difference)
    assert.deepEqual(await find(stored.id), stored)
  }

  it('updates a book that is as expected, again and again', async () => {
    const other = await opened.store.create(BOOK)
    let expected = await opened.store.create(BOOK)
    for (const changes of [
      { title: 'T' },
      { author: 'A', year: -1 },
      {},
      { title: '', author: '', year: 0 },
    ]) {
      const updated = await opened.store.update(expected.id, changes, expected)
      assert.deepEqual({ ...updated }, { ...expected, ...changes })
      assert.deepEqual(await find(expected.id), { ...expected, ...changes })
      expected = { ...expected, ...changes }
    }
    assert.deepEqual(await find(other.id), { ...other })
  })

  it('deletes a book that is as expected, and no other', async () => {
    const [other, book] = [await opened.store.create(BOOK), await opened.store.create(BOOK)]
    assert.equal(await opened.store.delete(book.id, book), true)
    assert.equal(await find(book.id), undefined)
    assert.deepEqual(await find(other.id), { ...other })
  })

  it('takes what find answers for what is expected', async () => {
    const { id } = await opened.store.create(BOOK)
    const updated = await opened.store.update(id, { year: 1 }, await opened.store.find(id))
    assert.deepEqual({ ...updated }, { id, ...BOOK, year: 1 })
    assert.equal(await opened.store.delete(id, await opened.store.find(id)), true)
  })

  it('leaves a book alone of which a field is not as expected', async () => {
    const stored = { ...(await opened.store.create(BOOK)) }
    for (const difference of [
      { title: 'Dune Messiah' },
      { author: 'Brian Herbert' },
      { year: 1966 },
      { year: -1965 },
      { title: 'T', author: 'A', year: 0 },
      { title: BOOK.author, author: BOOK.title },
    ])
      await assertRefused(stored, { ...stored, ...difference })
  })

  it('overlooks no difference of texts', async () => {
    for (const [what, [text, other]] of Object.entries(ALIKE)) {
      for (const [is, expected] of [
        [text, other],
        [other, text],
      ] as const) {
        const stored = { ...(await opened.store.create({ title: is, author: is, year: 1 })) }
        await assertRefused(stored, { ...stored, title: expected }, what)
        await assertRefused(stored, { ...stored, author: expected }, what)
        const updated = await opened.store.update(stored.id, { year: 2 }, stored)
        assert.equal(updated?.year, 2, what)
        assert.equal(await opened.store.delete(stored.id, { ...stored, year: 2 }), true, what)
      }
    }
  })

  it('compares years exactly', async () => {
    for (const year of YEARS) {
      const stored = { ...(await opened.store.create({ ...BOOK, year })) }
      const neighbour = year > 0 ? year - 1 : year + 1
      await assertRefused(stored, { ...stored, year: neighbour })
      assert.equal((await opened.store.update(stored.id, { year: neighbour }, stored))?.year, neighbour)
      assert.equal(await opened.store.delete(stored.id, { ...stored, year: neighbour }), true)
    }
  })

  it('writes nothing under an id that no book has', async () => {
    const book = await opened.store.create(BOOK)
    for (const missing of [book.id + 1, 2 ** 32 + book.id, Number.MAX_SAFE_INTEGER]) {
      assert.equal(await opened.store.update(missing, { year: 1 }, book), undefined)
      assert.equal(await opened.store.delete(missing, book), false)
      assert.equal(await opened.store.find(missing), undefined)
    }
    assert.deepEqual(await find(book.id), { ...book })
  })

  it(`lets one win of ${RACERS} who change the same book at once, and nobody else change anything`, async () => {
    let expected = await opened.store.create(BOOK)
    for (let round = 1; round <= 5; round++) {
      const updates = Array.from({ length: RACERS }, (_, racer) =>
        opened.store.update(expected.id, { title: `${round} of ${racer}` }, expected),
      )
      const winners = (await Promise.all(updates)).filter((book) => book !== undefined)
      assert.equal(winners.length, 1)
      const [winner] = winners
      assert.ok(winner)
      assert.deepEqual(await find(expected.id), { ...winner })
      expected = winner
    }
  })

  it('lets one win of those who change and those who delete the same book at once', async () => {
    for (let round = 1; round <= 5; round++) {
      const book = await opened.store.create(BOOK)
      const writes = Array.from({ length: RACERS }, async (_, racer) =>
        racer % 2 === 0
          ? (await opened.store.update(book.id, { year: racer }, book)) !== undefined
          : opened.store.delete(book.id, book),
      )
      const isDone = await Promise.all(writes)
      const winner = isDone.indexOf(true)
      assert.deepEqual(
        isDone.filter((done) => done),
        [true],
      )
      assert.deepEqual(await find(book.id), winner % 2 === 0 ? { ...book, year: winner } : undefined)
    }
  })

  it('is not misled by a book that is changed and changed back', async () => {
    const book = await opened.store.create(BOOK)
    await opened.store.update(book.id, { title: 'T' })
    await opened.store.update(book.id, { title: BOOK.title })
    assert.equal((await opened.store.update(book.id, { year: 1 }, book))?.year, 1)
  })
}
