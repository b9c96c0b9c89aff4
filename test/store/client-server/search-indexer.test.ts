import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wordsOfBook } from '../../../src/catalogue/search-words.js'
import {
  type BookIndex,
  BookIndexer,
  type IndexEntry,
  type StaleBook,
} from '../../../src/store/client-server/search-indexer.ts'

/** Of which a step can make the words of few books only. */
const COSTLY = '㌖'.repeat(4000)

/** An index in memory of books that are all stale, which stores a step when it may. */
class FakeIndex implements BookIndex {
  readonly valuesOf = wordsOfBook
  readonly steps: (readonly IndexEntry[])[] = []
  readonly #stale: readonly StaleBook[]
  readonly #mayStore: Promise<void>

  constructor(books: number, text: string, mayStore = Promise.resolve()) {
    const book = { title: text, author: text, fingerprint: 'f', isReadOnly: false }
    this.#stale = Array.from({ length: books }, (_, i) => ({ id: i + 1, ...book }))
    this.#mayStore = mayStore
  }

  async stale(after: number): Promise<readonly StaleBook[]> {
    return this.#stale.filter(({ id }) => id > after).slice(0, 200)
  }

  async store(books: readonly IndexEntry[]): Promise<number> {
    await this.#mayStore
    this.steps.push(books)
    return books.length
  }
}

// What queries see of it: queries.test.ts and the contract.
describe('the index of words on a server', () => {
  for (const [what, books, text, least, most] of [
    ['makes the words of costly books in short turns', 60, COSTLY, 10, 60],
    ['takes books that cost little together', 450, 'Dune', 3, 30],
  ] as const)
    it(what, async () => {
      const index = new FakeIndex(books, text)
      const indexer = new BookIndexer(index)
      assert.equal(await indexer.bringUpToDate(60_000), true)
      const ids = index.steps.flat().map(({ id }) => id)
      assert.deepEqual(
        ids,
        Array.from({ length: books }, (_, i) => i + 1),
      )
      assert.ok(index.steps.length >= least && index.steps.length <= most, `${index.steps.length} steps`)
      await indexer.close()
    })

  it('ends with the step that is being done', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const index = new FakeIndex(1000, COSTLY, promise)
    const indexer = new BookIndexer(index)
    const indexed = indexer.bringUpToDate(60_000)
    const closed = indexer.close()
    resolve()
    await Promise.all([closed, indexed])
    assert.ok(index.steps.length <= 1, `${index.steps.length} steps`)
  })
})
