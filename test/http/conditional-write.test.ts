import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Book, BookChanges } from '../../src/catalogue/book.ts'
import { type Store, StoreUnavailable } from '../../src/catalogue/store.ts'
import { conditionalWrite, entityTag, type Preconditions } from '../../src/http/conditional-requests.ts'
import { failure } from '../../src/http/envelope.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'

describe('a write with conditions', () => {
  let file: ReturnType<typeof newFile>
  let store: Store
  let book: Book
  /** What is done to the store, in order. */
  let done: string[]
  /** What others do each time between reading and writing. */
  let meanwhile: (time: number) => Promise<unknown>

  beforeEach(async () => {
    file = newFile()
    store = await openFile(file.path)
    book = await store.create({ title: 'T', author: 'A', year: 0 })
    done = []
    meanwhile = async () => {}
  })
  afterEach(async () => {
    await store.close()
    file[Symbol.dispose]()
  })

  const watched = (): Pick<Store, 'find'> => ({
    find: async (id) => {
      done.push('find')
      const found = await store.find(id)
      await meanwhile(done.length)
      return found
    },
  })
  const update = (conditions: Preconditions, changes: BookChanges) =>
    conditionalWrite(watched(), book.id, conditions, (expected) => {
      done.push('update')
      return store.update(book.id, changes, expected)
    })
  const remove = (conditions: Preconditions) =>
    conditionalWrite(watched(), book.id, conditions, (expected) => {
      done.push('delete')
      return store.delete(book.id, expected)
    })

  for (const conditions of [{}, { 'if-match': '*' }]) {
    it(`is that write alone with ${JSON.stringify(conditions)}`, async () => {
      assert.equal((await update(conditions, { year: 1 }))?.year, 1)
      assert.equal(await remove(conditions), true)
      assert.equal(await remove(conditions), false)
      assert.equal(await update(conditions, { year: 2 }), undefined)
      assert.deepEqual(done, ['update', 'delete', 'delete', 'update'])
    })
  }

  it('writes nothing when a condition does not hold', async () => {
    for (const conditions of [{ 'if-match': '"other"' }, { 'if-none-match': entityTag(book) }]) {
      await assert.rejects(update(conditions, { year: 1 }), failure.preconditionFailed)
      await assert.rejects(remove(conditions), failure.preconditionFailed)
    }
    assert.deepEqual(new Set(done), new Set(['find']))
  })

  it('reads and writes once when nobody comes between', async () => {
    assert.equal((await update({ 'if-match': entityTag(book) }, { year: 1 }))?.year, 1)
    assert.deepEqual(done, ['find', 'update'])
  })

  it('is refused when another changes the book between reading and writing', async () => {
    meanwhile = () => store.update(book.id, { title: 'of another' })
    const conditions = { 'if-match': entityTag(book) }
    await assert.rejects(update(conditions, { year: 1 }), failure.preconditionFailed)
    await assert.rejects(remove(conditions), failure.preconditionFailed)
    assert.deepEqual({ ...(await store.find(book.id)) }, { ...book, title: 'of another' })
  })

  it('decides again, and writes, when the condition still holds after the change of another', async () => {
    meanwhile = async (time) => time === 1 && store.update(book.id, { title: 'of another' })
    const updated = await update({ 'if-none-match': '"other"' }, { year: 1 })
    assert.deepEqual({ ...updated }, { ...book, title: 'of another', year: 1 })
    assert.deepEqual(done, ['find', 'update', 'find', 'update'])
  })

  it('finds no book when another deletes it between reading and writing', async () => {
    meanwhile = () => store.delete(book.id)
    assert.equal(await update({ 'if-match': entityTag(book) }, { year: 1 }), undefined)
    assert.deepEqual(done, ['find', 'update', 'find'])
  })

  it('gives up when others change the book each time', async () => {
    meanwhile = (time) => store.update(book.id, { year: time })
    for (const write of [
      () => update({ 'if-none-match': '"x"' }, { title: 'X' }),
      () => remove({ 'if-none-match': '"x"' }),
    ]) {
      done = []
      await assert.rejects(
        write(),
        (error) => error instanceof StoreUnavailable && error.reason === 'conflict' && error.nothingWritten,
      )
      assert.equal(done.length, 20, '10 times reading and writing')
    }
    assert.equal((await store.find(book.id))?.title, 'T')
  })
})
