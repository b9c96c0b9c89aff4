import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Book } from '../../../src/catalogue/book.ts'
import { type Store, StoreUnavailable } from '../../../src/catalogue/store.ts'
import { openConnection } from '../../../src/store/sqlite/connection.ts'
import { BOOKS, damageMiddle, fill } from '../../support/damage.ts'
import { booksOf, listAll, listPages } from '../pages.ts'
import { newFile, openFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

describe('a write lock held by another process', () => {
  it('makes a write fail with StoreUnavailable, while reads go on; the next write works', async () => {
    using file = newFile()
    const store = await openFile(file.path)
    const { id } = await store.create(BOOK)
    using other = openConnection(file.path)
    other.exec('BEGIN IMMEDIATE')
    other.prepare('UPDATE books SET year = 2').run()

    const write = assert.rejects(
      () => store.update(id, { title: 'lost' }),
      (error) => error instanceof StoreUnavailable && error.cause instanceof Error,
    )
    assert.deepEqual({ ...(await store.find(id)) }, { id, ...BOOK })
    await write
    assert.deepEqual({ ...(await store.find(id)) }, { id, ...BOOK })
    assert.deepEqual(await listAll(store), [{ id, ...BOOK }])

    other.exec('ROLLBACK')
    assert.deepEqual({ ...(await store.update(id, { title: 'kept' })) }, { id, ...BOOK, title: 'kept' })
    await store.close()
  })

  it('makes all writes fail that were asked for at once, and none of them happen later', async () => {
    using file = newFile()
    const store = await openFile(file.path)
    const { id } = await store.create(BOOK)
    using other = openConnection(file.path)
    other.exec('BEGIN IMMEDIATE')
    const writes = [store.update(id, { year: 2 }), store.create(BOOK), store.create(BOOK), store.delete(id)]
    for (const write of await Promise.allSettled(writes)) {
      assert.ok(write.status === 'rejected' && write.reason instanceof StoreUnavailable)
    }
    other.exec('ROLLBACK')
    const { id: next } = await store.create(BOOK)
    assert.deepEqual(await listAll(store), [
      { id, ...BOOK },
      { id: next, ...BOOK },
    ])
    await store.close()
  })
})

describe('a damaged database file', () => {
  it('makes a list fail in the middle, after the pages before the damage', async () => {
    using file = newFile()
    const { damaged, ids } = await openDamaged(file.path)
    const read: Book[] = []
    let pages = 0
    await assert.rejects(async () => {
      for await (const page of listPages(damaged)) {
        read.push(...booksOf(page))
        pages++
      }
    }, isDamage)
    assert.ok(pages > 1 && read.length < BOOKS, `${pages} pages, ${read.length} books`)
    assert.deepEqual(
      read.map(({ id }) => id),
      ids.slice(0, read.length),
    )
    await damaged.close()
  })

  it('makes a read of a lost book fail, and leaves the others readable', async () => {
    using file = newFile()
    const { damaged, ids } = await openDamaged(file.path)
    const lost = ids[Math.floor(BOOKS * 0.6)] ?? 0
    await assert.rejects(() => damaged.find(lost), isDamage)
    await assert.rejects(() => damaged.update(lost, { year: 1 }), isDamage)
    await assert.rejects(() => damaged.delete(lost), isDamage)
    assert.equal((await damaged.find(ids[0] ?? 0))?.year, 0)
    assert.equal((await damaged.find(ids.at(-1) ?? 0))?.year, BOOKS - 1)
    await damaged.close()
  })
})

/** A store whose file was filled, closed and damaged in the middle, and the ids of all its books. */
async function openDamaged(path: string): Promise<{ damaged: Store; ids: number[] }> {
  const store = await openFile(path)
  const ids = await fill(store)
  await store.close()
  damageMiddle(path)
  return { damaged: await openFile(path), ids }
}

/** Not StoreUnavailable: trying again does not help. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && !(error instanceof StoreUnavailable) && /malformed/.test(error.message)
}
