import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { wordsOfBook } from '../../../src/catalogue/search-words.js'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { BookIndexer } from '../../../src/store/client-server/search-indexer.ts'

const BOOK = { id: 1, title: 'T', author: 'A', fingerprint: 'f', isReadOnly: false }

/** Of which a step can make the words of few books only. */
const COSTLY = '㌖'.repeat(4000)

type Source = ConstructorParameters<typeof BookIndexer>[0]

/** An index of words, in which nothing is stale and nothing refused unless that is replaced. */
const newIndexer = (replaced: Partial<Source>) =>
  new BookIndexer({
    valuesOf: wordsOfBook,
    stale: async () => [],
    store: async () => 0,
    isRefused: () => false,
    ...replaced,
  })

/** Indexes books that are all stale. @param end is called before each step, which it may keep waiting. */
async function indexAll(count: number, text: string, end: (indexer: BookIndexer) => unknown = () => {}) {
  const book = { title: text, author: text, fingerprint: 'f', isReadOnly: false }
  const steps: number[][] = []
  const indexer = newIndexer({
    stale: async (after) =>
      Array.from({ length: Math.min(200, count - after) }, (_, i) => ({ id: after + i + 1, ...book })),
    async store(books) {
      end(indexer)
      steps.push(books.map(({ id }) => id))
      return books.length
    },
  })
  await indexer.bringUpToDate(60_000)
  await indexer.close()
  return steps
}

// What queries see of it: queries.test.ts and the contract.
it('the index of words on a server makes those of costly books in short turns, and of others together', async () => {
  for (const [books, text, least, most] of [
    [24, COSTLY, 5, 24],
    [450, 'Dune', 3, 30],
  ] as const) {
    const steps = await indexAll(books, text)
    assert.deepEqual(
      steps.flat(),
      Array.from({ length: books }, (_, i) => i + 1),
    )
    assert.ok(steps.length >= least && steps.length <= most, `${steps.length} steps`)
  }
})

it('the index of words on a server looks again for a query that comes while it is looking', async () => {
  const first = Promise.withResolvers<[]>()
  let looks = 0
  const indexer = newIndexer({ stale: async () => (++looks === 1 ? first.promise : []) })
  const before = indexer.bringUpToDate(60_000)
  await setImmediate()
  const during = indexer.bringUpToDate(60_000)
  first.resolve([])
  assert.deepEqual([await before, await during, looks], [true, true, 2])
  await indexer.close()
})

it('the index of words on a server looks after 500 writes, also if writes never cease', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let looks = 0
  const indexer = newIndexer({
    stale: async () => {
      looks++
      return []
    },
  })
  for (const expected of [0, 1, 2]) {
    await setImmediate()
    assert.equal(looks, expected)
    for (let write = 0; write < 500; write++) indexer.noteWrite()
  }
  await setImmediate()
  indexer.noteWrite()
  await setImmediate()
  assert.equal(looks, 3)
  await indexer.close()
})

it('the index of words on a server does not look for a query that was given up', async () => {
  const indexer = newIndexer({ stale: () => assert.fail('it looked') })
  await assert.rejects(indexer.bringUpToDate(60_000, AbortSignal.abort()), { name: 'AbortError' })
  await indexer.close()
})

it('the index of words on a server ends with the step that is being done', async () => {
  const steps = await indexAll(1000, COSTLY, (indexer) => indexer.close())
  assert.equal(steps.length, 1)
})

for (const reason of ['disk', 'read_only', 'conflict'] as const)
  it(`the index of words on a server is incomplete, and searches go on, while it cannot be written: ${reason}`, async () => {
    const refusal = new Error('a trigger')
    for (const isRefusedFirst of [false, true]) {
      const indexer = newIndexer({
        stale: async (after) => [BOOK, { ...BOOK, id: 2 }].filter(({ id }) => id > after),
        async store(entries) {
          if (isRefusedFirst && entries.length > 1) throw refusal
          throw new StoreUnavailable('it is not stored', { reason })
        },
        isRefused: (error) => error === refusal,
      })
      assert.equal(await indexer.bringUpToDate(60_000), false)
      await indexer.close()
    }
  })

it('the index of words on a server is incomplete, and not written, on a replica', async () => {
  const stale = async () => [{ ...BOOK, isReadOnly: true }]
  const indexer = newIndexer({ stale, store: () => assert.fail('it is read-only') })
  assert.equal(await indexer.bringUpToDate(60_000), false)
  await indexer.close()
})

for (const refusal of [undefined, new Error('a trigger')])
  it(`the index of words on a server has all other books if it may not change some: ${refusal}`, async () => {
    const books = Array.from({ length: 450 }, (_, i) => ({ ...BOOK, id: i + 1 }))
    const isProtected = ({ id }: { readonly id: number }) => id % 3 === 0 || (id > 210 && id < 430)
    const stored = new Set<number>()
    const indexer = newIndexer({
      stale: async (after) => books.filter(({ id }) => id > after && !stored.has(id)).slice(0, 200),
      async store(entries) {
        if (refusal && entries.some(isProtected)) throw refusal
        const free = entries.filter((entry) => !isProtected(entry))
        for (const { id } of free) stored.add(id)
        return free.length
      },
      isRefused: (error) => error === refusal,
    })
    assert.equal(await indexer.bringUpToDate(60_000), false)
    assert.equal(stored.size, books.filter((book) => !isProtected(book)).length)
    await indexer.close()
  })
