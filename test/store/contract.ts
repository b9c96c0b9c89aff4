import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { NewBook } from '../../src/catalogue/book.ts'
import { abandonContract } from './contract-abandon.ts'
import { expectedContract } from './contract-expected.ts'
import { importContract } from './contract-import.ts'
import { listContract } from './contract-list.ts'
import { queryContract } from './contract-query.ts'
import { textContract } from './contract-text.ts'
import { type TestStore, useStore } from './use-store.ts'

/**
 * What src/store/store.ts promises of every engine.
 * @param open gives every test a store of its own.
 */
export function storeContract(engine: string, open: () => Promise<TestStore>): void {
  describe(`the store on ${engine}: books`, () => booksContract(open))
  describe(`the store on ${engine}: text and years`, () => textContract(open))
  describe(`the store on ${engine}: writes to a book that is expected`, () => expectedContract(open))
  describe(`the store on ${engine}: the list`, () => listContract(open))
  describe(`the store on ${engine}: queries`, () => queryContract(open))
  describe(`the store on ${engine}: queries that are given up`, () => abandonContract(open))
  describe(`the store on ${engine}: imports`, () => importContract(open))
}

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

/** Single books: how they are created, found, changed and deleted. */
export function booksContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  /** The book as a plain object; engines make objects of several prototypes. */
  const find = async (id: number) => {
    const book = await opened.store.find(id)
    return book && { ...book }
  }

  it('creates a book under an id of its own, and finds it', async () => {
    const created = await opened.store.create(BOOK)
    assert.ok(Number.isSafeInteger(created.id) && created.id >= 1)
    assert.deepEqual({ ...created }, { id: created.id, ...BOOK })
    assert.deepEqual(await find(created.id), { ...created })
  })

  it('is ready', () => opened.store.ready())

  it('takes no id and no other field from the caller', async () => {
    const { id } = await opened.store.create(BOOK)
    const intruding = { ...BOOK, id: id + 50, isbn: 'x' }
    const created = await opened.store.create(intruding)
    assert.deepEqual({ ...created }, { id: created.id, ...BOOK })
    assert.notEqual(created.id, id + 50)
    const updated = await opened.store.update(created.id, { ...intruding, year: 1 })
    assert.deepEqual({ ...updated }, { id: created.id, ...BOOK, year: 1 })
    assert.equal(await find(id + 50), undefined)
  })

  it('gives books created at the same time different ids', async () => {
    const created = await Promise.all(
      Array.from({ length: 50 }, (_, year) => opened.store.create({ ...BOOK, year })),
    )
    assert.equal(new Set(created.map(({ id }) => id)).size, 50)
    for (const [year, { id }] of created.entries()) assert.equal((await find(id))?.year, year)
  })

  it('never gives the id of a deleted book again, not even of the newest after reopening', async () => {
    await opened.store.create(BOOK)
    const newest = await opened.store.create(BOOK)
    await opened.store.delete(newest.id)
    const next = await opened.store.create(BOOK)
    assert.ok(next.id > newest.id)
    await opened.store.delete(next.id)
    await opened.reopen()
    assert.ok((await opened.store.create(BOOK)).id > next.id)
  })

  it('never gives an id again after every book was deleted', async () => {
    const { id } = await opened.store.create(BOOK)
    await opened.store.delete(id)
    await opened.reopen()
    assert.ok((await opened.store.create(BOOK)).id > id)
  })

  for (const changes of [
    { title: 'T' },
    { author: 'A' },
    { year: -1 },
    { title: '', author: '', year: 0 },
    {},
  ]) {
    it(`update ${JSON.stringify(changes)} replaces these fields and keeps the others`, async () => {
      const other = await opened.store.create(BOOK)
      const { id } = await opened.store.create(BOOK)
      const updated = await opened.store.update(id, changes)
      assert.deepEqual({ ...updated }, { id, ...BOOK, ...changes })
      assert.deepEqual(await find(id), { id, ...BOOK, ...changes })
      assert.deepEqual(await find(other.id), { ...other })
    })
  }

  it('keeps changes of different fields of one book that are made at the same time', async () => {
    const { id } = await opened.store.create(BOOK)
    for (let year = 1; year <= 20; year++) {
      const title = `title ${year}`
      const author = `author ${year}`
      await Promise.all([
        opened.store.update(id, { title }),
        opened.store.update(id, { author }),
        opened.store.update(id, { year }),
        opened.store.update(id, {}),
      ])
      assert.deepEqual(await find(id), { id, title, author, year })
    }
  })

  it('deletes a book and no other', async () => {
    const kept = await opened.store.create(BOOK)
    const { id } = await opened.store.create(BOOK)
    assert.equal(await opened.store.delete(id), true)
    assert.equal(await find(id), undefined)
    assert.deepEqual(await find(kept.id), { ...kept })
  })

  it('deletes a book once when it is asked to several times at once', async () => {
    const { id } = await opened.store.create(BOOK)
    const responses = await Promise.all([
      opened.store.delete(id),
      opened.store.delete(id),
      opened.store.delete(id),
    ])
    assert.deepEqual(responses.toSorted(), [false, false, true])
  })

  it('does not bring a book back that is deleted while it is updated', async () => {
    const { id } = await opened.store.create(BOOK)
    const [updated, deleted] = await Promise.all([
      opened.store.update(id, { year: 1 }),
      opened.store.delete(id),
    ])
    assert.ok(updated === undefined || updated.year === 1)
    assert.equal(deleted, true)
    assert.equal(await find(id), undefined)
  })

  it('finds, updates and deletes nothing under an id that no book has', async () => {
    const { id } = await opened.store.create(BOOK)
    for (const missing of [id + 1, 2 ** 31, 2 ** 32 + id, Number.MAX_SAFE_INTEGER]) {
      assert.equal(await opened.store.find(missing), undefined)
      assert.equal(await opened.store.update(missing, { year: 1 }), undefined)
      assert.equal(await opened.store.update(missing, {}), undefined)
      assert.equal(await opened.store.delete(missing), false)
    }
    assert.deepEqual(await find(id), { id, ...BOOK })
  })

  it('finds what was written as soon as that is answered, also when others read all the time', async () => {
    const { id } = await opened.store.create(BOOK)
    let isWriting = true
    const reading = (async () => {
      for (; isWriting; await setImmediate()) await find(id)
    })()
    for (let year = 1; year <= 40; year++) {
      await opened.store.update(id, { year })
      assert.equal((await find(id))?.year, year)
    }
    await opened.store.delete(id)
    assert.equal(await find(id), undefined)
    isWriting = false
    await reading
  })

  it('keeps everything over close and reopen', async () => {
    const [changed, deleted, kept] = [
      await opened.store.create(BOOK),
      await opened.store.create(BOOK),
      await opened.store.create(BOOK),
    ]
    await opened.store.update(changed.id, { year: 1966 })
    await opened.store.delete(deleted.id)
    await opened.reopen()
    assert.deepEqual(await find(changed.id), { ...changed, year: 1966 })
    assert.equal(await find(deleted.id), undefined)
    assert.deepEqual(await find(kept.id), { ...kept })
  })
}
