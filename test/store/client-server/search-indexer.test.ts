import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ServerQueries } from '../../../src/store/client-server/queries.ts'
import {
  type BookIndex,
  BookIndexer,
  type BookWords,
  type StaleBook,
  WORDS_OF_BOOKS,
} from '../../../src/store/client-server/search-indexer.ts'
import { type ServerEngine, ServerStore } from '../../../src/store/client-server/store.ts'
import { DEFAULT_TIMEOUT } from '../../../src/store/timeout.ts'
import { type FakeConnection, FakeDriver, newPool, watch } from './fake-driver.ts'

interface Given {
  /** Whether steps wait until they are released. */
  readonly isHeld?: boolean
  readonly isReadOnly?: boolean
}

/** An index in memory of books that are all stale, and which stores a step when it is told. */
class FakeIndex implements BookIndex {
  readonly steps: (readonly BookWords[])[] = []
  /** How often it was looked for stale books. */
  looks = 0
  #stale: StaleBook[]
  #storing = Promise.withResolvers<void>()
  #isHeld: boolean

  constructor(books: number, text = 'Dune', { isHeld = false, isReadOnly = false }: Given = {}) {
    this.#stale = Array.from({ length: books }, (_, i) => ({
      id: i + 1,
      title: text,
      author: text,
      fingerprint: 'f',
      isReadOnly,
    }))
    this.#isHeld = isHeld
  }

  release(): void {
    this.#isHeld = false
    this.#storing.resolve()
  }

  async stale(after: number): Promise<readonly StaleBook[]> {
    this.looks++
    return this.#stale.filter(({ id }) => id > after).slice(0, 200)
  }

  async store(books: readonly BookWords[]): Promise<number> {
    if (this.#isHeld) await this.#storing.promise
    const ids = new Set(books.map(({ id }) => id))
    this.#stale = this.#stale.filter(({ id }) => !ids.has(id))
    this.steps.push(books)
    return books.length
  }
}

const newIndexer = (index: BookIndex) => new BookIndexer(index, WORDS_OF_BOOKS, () => {})

describe('the index of words on a server', () => {
  it('makes the words of costly books in short turns, and takes books that cost little together', async () => {
    for (const [books, text, least, most] of [
      [60, '㌖'.repeat(4000), 10, 60],
      [450, 'Dune', 3, 30],
    ] as const) {
      const index = new FakeIndex(books, text)
      const indexer = newIndexer(index)
      assert.equal(await indexer.bringUpToDate(60_000), true)
      const ids = index.steps.flat().map(({ id }) => id)
      assert.deepEqual(
        ids,
        Array.from({ length: books }, (_, i) => i + 1),
      )
      assert.ok(index.steps.length >= least && index.steps.length <= most, `${index.steps.length} steps`)
      await indexer.close()
    }
  })

  it('says that it is behind when it takes too long: the first time after waiting, then at once', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    const index = new FakeIndex(3, 'Dune', { isHeld: true })
    const indexer = newIndexer(index)
    const first = indexer.bringUpToDate(50)
    await setImmediate()
    t.mock.timers.tick(50)
    assert.equal(await first, false)
    assert.equal(await indexer.bringUpToDate(50), false)
    index.release()
    assert.equal(await indexer.bringUpToDate(60_000), true)
    await indexer.close()
  })

  it('follows after 500 writes, if there is no pause before', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const index = new FakeIndex(1)
    const indexer = newIndexer(index)
    for (let i = 1; i <= 500; i++) {
      assert.equal(index.steps.length, 0)
      indexer.noteWrite()
      if (i >= 499) await setImmediate()
    }
    assert.equal(index.steps.length, 1)
    await indexer.close()
  })

  it('is waited for only in a part of the time of a query, which then says that it is incomplete', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    const index = new FakeIndex(1, 'Dune', { isHeld: true })
    const indexer = newIndexer(index)
    const seen: unknown[] = []
    const queries = new ServerQueries({
      indexer,
      keyIndexer: undefined,
      timeout: DEFAULT_TIMEOUT,
      dialect: () => assert.fail(),
      run: async (_work, { time, client }) => seen.push(time, client) as never,
    })
    const [giveUp, reason] = [new AbortController(), new Error('nobody waits')]
    const givenUp = assert.rejects(queries.count({ words: ['dune'] }, giveUp), reason)
    giveUp.abort(reason)
    const onIncomplete = () => seen.push('incomplete')
    const count = queries.count({ words: ['dune'] }, { client: 'A', onIncomplete })
    t.mock.timers.tick(DEFAULT_TIMEOUT / 2)
    await Promise.all([count, givenUp])
    assert.deepEqual(seen, ['incomplete', DEFAULT_TIMEOUT / 2, 'A'])
    index.release()
    await indexer.close()
  })

  it('is not looked at again for a query that may miss the last writes, except after a pass that failed', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] })
    const index = new FakeIndex(3)
    const indexer = newIndexer(index)
    const recent = () => indexer.bringUpToDate(60_000, undefined, 60_000)
    const failure = new Error('failed')
    const looking = t.mock.method(index, 'stale', () => Promise.reject(failure))
    await assert.rejects(recent(), failure)
    looking.mock.restore()
    t.mock.timers.tick(60_000)
    for (let i = 0; i < 10; i++) assert.equal(await recent(), true)
    assert.equal(index.looks, 1)
    t.mock.timers.tick(60_000)
    assert.equal(await recent(), true)
    assert.equal(index.looks, 2)
    await indexer.close()
  })

  it('is behind where the server refuses to store words, and is only looked at, each time', async () => {
    const index = new FakeIndex(3, 'Dune', { isReadOnly: true })
    const indexer = newIndexer(index)
    for (let i = 1; i <= 3; i++) {
      assert.equal(await indexer.bringUpToDate(60_000, undefined, 60_000), false)
      assert.equal(index.looks, i)
    }
    assert.deepEqual(index.steps, [])
    await indexer.close()
  })

  it('is waited for by an import that needs the sort keys, until that is given up', async () => {
    const index = new FakeIndex(1, 'Dune', { isHeld: true })
    const engine = { keyIndex: () => index } as unknown as ServerEngine<FakeConnection>
    const store = new ServerStore(newPool(1, new FakeDriver()), engine, () => {})
    const [giveUp, reason] = [new AbortController(), new Error('gone')]
    async function* books() {}
    const importing = watch(store.import(books(), { skipExisting: true, signal: giveUp.signal }))
    await setImmediate()
    giveUp.abort(reason)
    await setImmediate()
    assert.equal(importing.error, reason)
    index.release()
    await store.close()
  })

  it('ends with the step that is being done', async () => {
    const index = new FakeIndex(1000, '㌖'.repeat(4000), { isHeld: true })
    const indexer = newIndexer(index)
    const indexed = indexer.bringUpToDate(60_000)
    const closed = indexer.close()
    index.release()
    await Promise.all([closed, indexed])
    assert.ok(index.steps.length <= 1, `${index.steps.length} steps`)
  })
})
