import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { NewBook } from '../../src/book.ts'
import type { Store } from '../../src/store/store.ts'
import { listContract } from './contract-list.ts'
import { textContract } from './contract-text.ts'

/** An engine's store over data of its own, which is empty at first. */
export interface TestStore {
  readonly store: Store
  /** Closes the store and opens another over the same data. */
  reopen(): Promise<Store>
  /** Closes the store that is open, and removes its data. */
  remove(): Promise<void>
}

/**
 * What src/store/store.ts promises of every engine.
 * @param open gives every test a store of its own.
 */
export function storeContract(engine: string, open: () => Promise<TestStore>): void {
  describe(`the store on ${engine}: books`, () => booksContract(open))
  describe(`the store on ${engine}: text and years`, () => textContract(open))
  describe(`the store on ${engine}: the list`, () => listContract(open))
}

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

function booksContract(open: () => Promise<TestStore>): void {
  let opened: TestStore
  let store: Store
  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.remove())

  /** The book as a plain object; engines make objects of several prototypes. */
  const find = async (id: number) => {
    const book = await store.find(id)
    return book && { ...book }
  }

  it('creates a book under an id of its own, and finds it', async () => {
    const created = await store.create(BOOK)
    assert.ok(Number.isSafeInteger(created.id) && created.id >= 1)
    assert.deepEqual({ ...created }, { id: created.id, ...BOOK })
    assert.deepEqual(await find(created.id), { ...created })
  })

  it('takes no id and no other field from the caller', async () => {
    const { id } = await store.create(BOOK)
    const intruding = { ...BOOK, id: id + 50, isbn: 'x' }
    const created = await store.create(intruding)
    assert.deepEqual({ ...created }, { id: created.id, ...BOOK })
    assert.notEqual(created.id, id + 50)
    const updated = await store.update(created.id, { ...intruding, year: 1 })
    assert.deepEqual({ ...updated }, { id: created.id, ...BOOK, year: 1 })
    assert.equal(await find(id + 50), undefined)
  })

  it('gives books created at the same time different ids', async () => {
    const created = await Promise.all(
      Array.from({ length: 50 }, (_, year) => store.create({ ...BOOK, year })),
    )
    assert.equal(new Set(created.map(({ id }) => id)).size, 50)
    for (const [year, { id }] of created.entries()) assert.equal((await find(id))?.year, year)
  })

  it('never gives the id of a deleted book again, not even of the newest after reopening', async () => {
    await store.create(BOOK)
    const newest = await store.create(BOOK)
    await store.delete(newest.id)
    const next = await store.create(BOOK)
    assert.ok(next.id > newest.id)
    await store.delete(next.id)
    store = await opened.reopen()
    assert.ok((await store.create(BOOK)).id > next.id)
  })

  it('never gives an id again after every book was deleted', async () => {
    const { id } = await store.create(BOOK)
    await store.delete(id)
    store = await opened.reopen()
    assert.ok((await store.create(BOOK)).id > id)
  })

  for (const changes of [
    { title: 'T' },
    { author: 'A' },
    { year: -1 },
    { title: '', author: '', year: 0 },
    {},
  ]) {
    it(`update ${JSON.stringify(changes)} replaces these fields and keeps the others`, async () => {
      const other = await store.create(BOOK)
      const { id } = await store.create(BOOK)
      const updated = await store.update(id, changes)
      assert.deepEqual({ ...updated }, { id, ...BOOK, ...changes })
      assert.deepEqual(await find(id), { id, ...BOOK, ...changes })
      assert.deepEqual(await find(other.id), { ...other })
    })
  }

  it('keeps changes of different fields of one book that are made at the same time', async () => {
    const { id } = await store.create(BOOK)
    for (let year = 1; year <= 20; year++) {
      const title = `title ${year}`
      const author = `author ${year}`
      await Promise.all([
        store.update(id, { title }),
        store.update(id, { author }),
        store.update(id, { year }),
        store.update(id, {}),
      ])
      assert.deepEqual(await find(id), { id, title, author, year })
    }
  })

  it('deletes a book and no other', async () => {
    const kept = await store.create(BOOK)
    const { id } = await store.create(BOOK)
    assert.equal(await store.delete(id), true)
    assert.equal(await find(id), undefined)
    assert.deepEqual(await find(kept.id), { ...kept })
  })

  it('deletes a book once when it is asked to several times at once', async () => {
    const { id } = await store.create(BOOK)
    const answers = await Promise.all([store.delete(id), store.delete(id), store.delete(id)])
    assert.deepEqual(answers.toSorted(), [false, false, true])
  })

  it('does not bring a book back that is deleted while it is updated', async () => {
    const { id } = await store.create(BOOK)
    const [updated, deleted] = await Promise.all([store.update(id, { year: 1 }), store.delete(id)])
    assert.ok(updated === undefined || updated.year === 1)
    assert.equal(deleted, true)
    assert.equal(await find(id), undefined)
  })

  it('finds, updates and deletes nothing under an id that no book has', async () => {
    const { id } = await store.create(BOOK)
    for (const missing of [id + 1, 2 ** 31, 2 ** 32 + id, Number.MAX_SAFE_INTEGER]) {
      assert.equal(await store.find(missing), undefined)
      assert.equal(await store.update(missing, { year: 1 }), undefined)
      assert.equal(await store.update(missing, {}), undefined)
      assert.equal(await store.delete(missing), false)
    }
    assert.deepEqual(await find(id), { id, ...BOOK })
  })

  it('keeps everything over close and reopen', async () => {
    const [changed, deleted, kept] = [
      await store.create(BOOK),
      await store.create(BOOK),
      await store.create(BOOK),
    ]
    await store.update(changed.id, { year: 1966 })
    await store.delete(deleted.id)
    store = await opened.reopen()
    assert.deepEqual(await find(changed.id), { ...changed, year: 1966 })
    assert.equal(await find(deleted.id), undefined)
    assert.deepEqual(await find(kept.id), { ...kept })
  })
}
