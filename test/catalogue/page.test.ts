import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Book } from '../../src/catalogue/book.ts'
import { allPages, booksOf, pageOf } from '../../src/catalogue/page.ts'
import { ALL_BOOKS } from '../../src/catalogue/query.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'

describe('all pages of a query', () => {
  it('end without an empty page if the other books are deleted after a page', async () => {
    using file = newFile()
    const store = await openFile(file.path)
    const book = { title: 'x'.repeat(store.listBounds.text), author: 'A', year: 1 }
    for (let i = 0; i < 3; i++) await store.create(book)
    const pages: Book[][] = []
    for await (const page of allPages(store, ALL_BOOKS)) {
      pages.push(booksOf(page))
      for (const id of [2, 3]) await store.delete(id)
    }
    assert.deepEqual(pages, [[{ id: 1, ...book }]])
    await store.close()
  })

  it('are each asked for once, the last of them too', async () => {
    const asked: unknown[] = []
    const options = { client: 'c' }
    const page: Store['page'] = async (_query, after, _bounds, given) => {
      asked.push(after)
      assert.equal(given, options)
      const id = Number(after?.[0] ?? 0) + 1
      return pageOf([{ id, title: 'T', author: 'A', year: 1 }], { last: [id], more: id < 3 })
    }
    const store = { page, listBounds: { books: 1, text: 1 } }
    assert.equal((await Array.fromAsync(allPages(store, ALL_BOOKS, undefined, options))).length, 3)
    assert.deepEqual(asked, [undefined, [1], [2]])
  })
})
