import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NewBook } from '../../src/catalogue/book.ts'
import type { BookFilter } from '../../src/catalogue/query.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { booksOf } from './pages.ts'
import { type TestStore, useStore } from './use-store.ts'

const BOOK: NewBook = { title: 'Dune', author: 'Frank Herbert', year: 1965 }

/** Each of them a query that takes words, which every engine looks up in an index of its own. */
const QUERIES: Readonly<
  Record<string, (store: Store, filter: BookFilter, signal?: AbortSignal) => Promise<unknown>>
> = {
  page: async (store, filter, signal) =>
    booksOf(
      await store.page({ filter, order: 'relevance' }, undefined, { books: 10, text: 1000 }, { signal }),
    ),
  count: (store, filter, signal) => store.count(filter, { signal }),
  statistics: (store, filter, signal) => store.statistics(filter, { signal }),
}

/** Queries that nobody waits for any more. */
export function abandonContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  for (const [name, query] of Object.entries(QUERIES)) {
    it(`${name}: one whose signal is aborted before, waiting or running rejects with its reason`, async () => {
      const { store } = opened
      await store.create(BOOK)
      const filter = { words: ['dune'] }
      const expected = await query(store, filter)
      const reason = new Error('nobody waits')
      await assert.rejects(query(store, filter, AbortSignal.abort(reason)), reason)
      // More than there are threads or connections, so that some run and others wait.
      const controllers = Array.from({ length: 30 }, () => new AbortController())
      const queries = controllers.map(({ signal }) => query(store, filter, signal))
      const settled = Promise.allSettled(queries)
      for (const controller of controllers.filter((_, i) => i % 3 !== 2)) controller.abort(reason)
      for (const [i, result] of (await settled).entries()) {
        if (i % 3 === 2) assert.deepEqual(result, { status: 'fulfilled', value: expected })
        else assert.deepEqual(result, { status: 'rejected', reason })
      }
      assert.deepEqual(await query(store, filter), expected)
    })
  }

  it('an abort after the response changes nothing', async () => {
    const controller = new AbortController()
    await opened.store.create(BOOK)
    assert.equal(await opened.store.count({}, { signal: controller.signal }), 1)
    controller.abort()
    assert.equal(await opened.store.count({}), 1)
  })
}
