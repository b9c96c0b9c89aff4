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

  it('are each asked for once, the last of them too, and are about as long as the texts allow', async () => {
    const asked: unknown[] = []
    const options = { client: 'c' }
    const listBounds = { books: 300, text: 1000 }
    /** Only the third page reaches its bound of text. */
    const counts = [128, 256, 50, 150, 300, 1]
    const page: Store['page'] = async (_query, after, bounds, given) => {
      assert.equal(given, options)
      const [i = 0] = (after ?? []) as number[]
      asked.push([after, bounds])
      const books = Array.from({ length: counts[i] ?? 0 }, (_, id) => ({
        id,
        title: 'T',
        author: 'A',
        year: 1,
      }))
      return pageOf(books, { last: [i + 1], more: i + 1 < counts.length })
    }
    const pages = await Array.fromAsync(allPages({ page, listBounds }, ALL_BOOKS, undefined, options))
    assert.deepEqual(
      pages.map((each) => (JSON.parse(`[${each.json()}]`) as Book[]).length),
      counts,
    )
    assert.deepEqual(
      asked,
      [128, 256, 300, 150, 300, 300].map((books, i) => [i === 0 ? undefined : [i], { ...listBounds, books }]),
    )
  })
})
