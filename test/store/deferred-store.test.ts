import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Store, StoreUnavailable } from '../../src/catalogue/store.ts'
import { deferStore } from '../../src/store/open.ts'
import { listAll } from './pages.ts'
import { newFile, openFile } from './sqlite/file.ts'

/** In milliseconds. */
const TIMEOUT = 7000

const BOOK = { title: 'T', author: 'A', year: 1 }
const QUERY = { filter: {}, order: [{ name: 'id', descending: false }] } as const

/** Calls every operation once. */
const callAll = (store: Store) => [
  store.create(BOOK),
  store.find(1),
  store.ready(),
  store.update(1, { year: 2 }),
  store.delete(9),
  store.count({}),
  store.statistics({}),
  store.page(QUERY, undefined, { books: 9, text: 999 }),
  store.import((async function* () {})()),
  listAll(store),
]

const isUnavailable = (error: unknown) => error instanceof StoreUnavailable

describe('a store that is still being opened', () => {
  it('answers every operation once it is open', async (t) => {
    using file = newFile()
    const { promise, resolve } = Promise.withResolvers<Store>()
    const deferred = deferStore(promise, TIMEOUT)
    const answers = Promise.all(callAll(deferred))
    let isAnswered = false
    answers.then(() => {
      isAnswered = true
    })
    await setImmediate()
    assert.equal(isAnswered, false)
    assert.deepEqual(deferred.load(), {})
    const store = await openFile(file.path)
    t.after(() => store.close())
    await store.create(BOOK)
    resolve(store)
    const [created, found] = await answers
    assert.deepEqual(created, { id: 2, ...BOOK })
    assert.deepEqual({ ...(found as object) }, { id: 1, ...BOOK })
    assert.equal((await listAll(deferred)).length, 2)
    assert.deepEqual(deferred.load(), store.load())
  })

  it('is unavailable after the deadline, and closes, if it does not open', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const deferred = deferStore(new Promise(() => {}), TIMEOUT)
    const answers = Promise.allSettled(callAll(deferred))
    t.mock.timers.tick(TIMEOUT - 1)
    let isAnswered = false
    answers.then(() => {
      isAnswered = true
    })
    await setImmediate()
    assert.equal(isAnswered, false)
    t.mock.timers.tick(1)
    for (const each of await answers) assert.ok(each.status === 'rejected' && isUnavailable(each.reason))
    await deferred.close()
  })

  it('is unavailable at once when opening has failed', async () => {
    const { promise, reject } = Promise.withResolvers<Store>()
    const deferred = deferStore(promise, TIMEOUT)
    const answers = Promise.allSettled(callAll(deferred))
    reject(new StoreUnavailable('it failed'))
    for (const each of await answers) assert.ok(each.status === 'rejected' && isUnavailable(each.reason))
  })
})
