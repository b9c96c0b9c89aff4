import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NewBook } from '../../src/catalogue/book.ts'
import { type ImportedBook, StoreNotEmpty } from '../../src/catalogue/store.ts'
import { inGroups, listAll, plain } from './pages.ts'
import { type TestData, useStore } from './use-store.ts'

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

/** More than one group has, and than one page. */
const MANY = 2500

/** More books than a search waits for on any engine until they are indexed. */
const MANY_TO_INDEX = 6000

/** Imports: all or nothing, in order, and beside other writes. */
export function importContract(prepare: () => Promise<TestData>): void {
  const opened = useStore(prepare)

  const fields = async () =>
    (await listAll(opened.store)).map(({ title, author, year }) => ({ title, author, year }))

  it('stores all books under rising ids, in their order; also none, and none in a dry run', async () => {
    for (const options of [{}, { skipExisting: true }, { keepIds: true }, { dryRun: true }])
      assert.deepEqual(await opened.store.import(inGroups([]), options), { added: 0, skipped: 0 })
    await opened.store.create(BOOK)
    const books = Array.from({ length: MANY }, (_, i) => ({ ...BOOK, title: `T ${i % 7}`, year: i }))
    const counts = { added: MANY, skipped: 0 }
    assert.deepEqual(await opened.store.import(inGroups(books), { dryRun: true }), counts)
    assert.deepEqual(await fields(), [BOOK])
    assert.deepEqual(await opened.store.import(inGroups(books)), counts)
    await opened.store.create({ ...BOOK, year: MANY })
    assert.deepEqual(await fields(), [BOOK, ...books, { ...BOOK, year: MANY }])
  })

  it('lets searches go on, which say so as long as they may miss books', async () => {
    let isIncomplete = false
    const onIncomplete = () => {
      isIncomplete = true
    }
    const count = () => opened.store.count({ words: ['dune'] }, { onIncomplete })
    await opened.store.create(BOOK)
    assert.equal(await count(), 1)
    const during: number[] = []
    async function* searched(): AsyncGenerator<readonly ImportedBook[]> {
      for await (const books of inGroups(Array.from({ length: MANY_TO_INDEX }, () => BOOK))) {
        yield books
        during.push(await count())
      }
    }
    await opened.store.import(searched())
    assert.deepEqual(new Set(during), new Set([1]))
    assert.equal(isIncomplete, false)
    do {
      isIncomplete = false
      const found = await count()
      assert.ok(found === MANY_TO_INDEX + 1 || (isIncomplete && found >= 1), `${found} found`)
    } while (isIncomplete)
  })

  it('is not seen by others before its end, lets them write meanwhile, and may take longer than all else', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
    const seen: number[] = []
    async function* watched(): AsyncGenerator<NewBook[]> {
      for (let i = 0; i < 5; i++) {
        yield [{ ...BOOK, year: i }]
        if (i === 0) {
          t.mock.timers.tick(5 * 3_600_000)
          // In a time that stands still, a pause after a connection that failed would never end.
          t.mock.timers.reset()
        }
        await opened.store.create({ ...BOOK, title: 'meanwhile' })
        seen.push((await fields()).length)
      }
    }
    assert.deepEqual(await opened.store.import(watched()), { added: 5, skipped: 0 })
    assert.deepEqual(seen, [1, 2, 3, 4, 5])
    assert.equal((await fields()).length, 10)
  })

  it('passes over what is there already, to the byte, if it is asked to', async () => {
    const long = { title: 'x'.repeat(100_000), author: 'A', year: 0 }
    const there = [
      BOOK,
      { ...BOOK, title: '' },
      { title: 'é'.repeat(600), author: '文字', year: -1 },
      { ...long, author: '' },
      long,
    ]
    await opened.store.import(inGroups(there))
    const others = [
      { ...BOOK, title: 'dune' },
      { ...BOOK, author: 'Frank Herbert ' },
      { ...BOOK, year: 1966 },
      { title: `${'é'.repeat(599)}e`, author: '文字', year: -1 },
      { ...BOOK, title: 'twice' },
      { ...BOOK, title: 'twice' },
      { ...long, author: 'B' },
      { ...long, year: 1 },
    ]
    const both = others.flatMap((book, i) => [book, there[i] ?? BOOK])
    for (const dryRun of [true, false]) {
      const imported = await opened.store.import(inGroups(both, 3), { skipExisting: true, dryRun })
      assert.deepEqual(imported, { added: 8, skipped: 8 })
      assert.deepEqual(await fields(), dryRun ? there : [...there, ...others])
    }
    const again = await opened.store.import(inGroups(both, 3), { skipExisting: true })
    assert.deepEqual(again, { added: 0, skipped: 16 })
  })

  for (const options of [{ skipExisting: true }, {}, { skipExisting: true, dryRun: true }])
    it(`ends when nobody waits for it any more, and goes on afterwards: ${JSON.stringify(options)}`, async () => {
      const gone = new AbortController()
      const reason = new Error('gone')
      const closed = Promise.withResolvers<void>()
      async function* left(): AsyncGenerator<NewBook[]> {
        try {
          yield [BOOK]
          gone.abort(reason)
          // Without it, the next group is not what ends the import.
          if (Object.keys(options).length === 1) yield [BOOK]
        } finally {
          closed.resolve()
        }
      }
      await assert.rejects(opened.store.import(left(), { ...options, signal: gone.signal }), reason)
      await closed.promise
      assert.deepEqual(await fields(), [])
      assert.deepEqual(await opened.store.import(inGroups([BOOK])), { added: 1, skipped: 0 })
    })

  it('keeps ids in a store without books, and goes on above all that were ever given', async () => {
    const gone = [await opened.store.create(BOOK), await opened.store.create(BOOK)] as const
    for (const { id } of gone) await opened.store.delete(id)
    await opened.store.import(inGroups([gone[0]]), { keepIds: true })
    assert.ok((await opened.store.create(BOOK)).id > gone[1].id)
    for (const { id } of await listAll(opened.store)) await opened.store.delete(id)
    const books = [3, 4, 1_000_000, 2 ** 40].map((id) => ({ id, ...BOOK, year: id }))
    const imported = await opened.store.import(inGroups(books, 2), { keepIds: true })
    assert.deepEqual(imported, { added: 4, skipped: 0 })
    assert.deepEqual(plain(await listAll(opened.store)), books)
    const last = await opened.store.create(BOOK)
    assert.ok(last.id > 2 ** 40)
    await opened.store.delete(last.id)
    await opened.reopen()
    assert.ok((await opened.store.create(BOOK)).id > last.id)
  })

  it('refuses to keep ids where there are books, also if they were created meanwhile', async () => {
    async function* interrupted(): AsyncGenerator<ImportedBook[]> {
      yield [{ id: 77, ...BOOK, year: 77 }]
      await opened.store.create(BOOK)
    }
    for (const books of [interrupted(), inGroups([{ id: 77, ...BOOK, year: 77 }])]) {
      await assert.rejects(opened.store.import(books, { keepIds: true }), StoreNotEmpty)
      assert.deepEqual(await fields(), [BOOK])
    }
    // Writes wait no longer.
    await opened.store.create(BOOK)
  })
}
