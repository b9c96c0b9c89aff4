import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { BookQuery } from '../../../src/catalogue/query.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { KEY_INDEXES, UNINDEXED } from '../../../src/store/sqlite/schema.ts'
import { openSqlite, prepareSqlite } from '../../../src/store/sqlite/store.ts'
import { ResponseCount } from '../../../src/store/sqlite/threads.ts'
import { newFile, openFile } from './file.ts'

const PLENTY = { books: 1000, text: 2 ** 20 }
const BOOK = { title: 'Kept', author: 'A', year: 1 }

/** A query of the thread for pages, and one of the thread for searches and counts. */
const SOME_YEARS = { yearMin: 1 }
const NEWEST_OF_YEARS: BookQuery = { filter: SOME_YEARS, order: [{ name: 'id', descending: true }] }

/** Up to this many books are sorted. */
const FEW_BOOKS = 10_000

/** More than may wait, and how many may. */
const [MANY, MAX_WAITING] = [1500, 1000]

/** How long these tests wait for a lock, in milliseconds. */
const timeout = 60_000

const reason = new Error('nobody waits')

/** A store whose queries of keys never end, until `end` is called. Each of its books has a key. */
async function openEndless(t: TestContext) {
  const file = newFile()
  const first = await openFile(file.path)
  await first.create(BOOK)
  await first.count(SOME_YEARS)
  await first.close()
  const database = new DatabaseSync(file.path, { timeout })
  database.exec(`
    DROP TABLE book_keys;
    CREATE TABLE stop (last INTEGER); INSERT INTO stop VALUES (1e18);
    CREATE VIEW book_keys AS
      WITH RECURSIVE numbers (id) AS
        (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < (SELECT last FROM stop))
      SELECT id, 'kept' AS title_key, 'a' AS author_key, id AS year_key FROM numbers;
    ${KEY_INDEXES.map(({ name }) => `CREATE INDEX ${name} ON stop (last)`).join(';')};
    DELETE FROM ${UNINDEXED}`)
  const { connect, close } = prepareSqlite(file.path, () => {})
  /** For stores of several threads that answer requests. */
  const access = { path: file.path, connect, responses: new ResponseCount(), threads: 1 }
  const [store, another] = [openSqlite({ ...access, end: close }), openSqlite(access)]
  const checkpointer = new DatabaseSync(file.path, { timeout: 0 })
  t.after(async () => {
    await another.close()
    // A test may have closed it.
    await store.close().catch(() => {})
    database.close()
    checkpointer.close()
    file[Symbol.dispose]()
  })
  return {
    store,
    another,
    end: (last = 1) => database.exec(`UPDATE stop SET last = ${last}`),
    /** Waits until a query very likely runs: then the log cannot be begun anew after a write. */
    async untilRunning() {
      const busy = () => checkpointer.prepare('PRAGMA wal_checkpoint(RESTART)').get()?.busy
      for (let isBusy = false; !isBusy; await setTimeout(5)) {
        database.exec('UPDATE stop SET last = last')
        isBusy = busy() === 1
      }
    },
  }
}

describe('a query on SQLite', () => {
  it('is given up when it takes too long, and the next of the same kind is answered', async (t) => {
    const { store, end } = await openEndless(t)
    assert.equal(await store.count({}), 1)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const refused = assert.rejects(
      store.count(SOME_YEARS),
      (error) => error instanceof StoreUnavailable && error.reason === 'timeout',
    )
    t.mock.timers.tick(9999)
    assert.equal(store.load().queries_waiting, 1)
    t.mock.timers.tick(1)
    await refused
    t.mock.timers.reset()
    assert.equal(store.load().queries_waiting, 0)
    end()
    assert.equal(await store.count(SOME_YEARS), 1)
  })

  it('is given up when nobody waits for it, waiting or running, and the same one is answered the next time', async (t) => {
    const { store, end, untilRunning } = await openEndless(t)
    const controller = new AbortController()
    const ask = () => store.page(NEWEST_OF_YEARS, undefined, PLENTY, controller)
    const asked = [ask(), ask(), ask()].map((page) => assert.rejects(page, reason))
    await untilRunning()
    controller.abort(reason)
    await Promise.all(asked)
    await assert.rejects(ask(), reason)
    const next = new AbortController()
    const statistics = assert.rejects(store.statistics(SOME_YEARS, next), reason)
    await untilRunning()
    next.abort(reason)
    await statistics
    for (const { signal } of [controller, next]) assert.deepEqual(getEventListeners(signal, 'abort'), [])
    // So many that the statement stays the same.
    end(2 * FEW_BOOKS)
    assert.equal((await store.page(NEWEST_OF_YEARS, undefined, PLENTY)).count, 1)
  })

  it('is not given up when the client of another thread goes away', async (t) => {
    const { store, another, end, untilRunning } = await openEndless(t)
    // The thread takes the messages of the one that was connected first before those of the other.
    for (const each of [another, store]) assert.equal(await each.count({}), 1)
    const controller = new AbortController()
    const first = assert.rejects(store.count(SOME_YEARS, controller), reason)
    await untilRunning()
    const second = another.count(SOME_YEARS)
    // It is sent at the end of a turn of the event loop.
    for (let turns = 0; turns < 2; turns++) await setImmediate()
    end()
    controller.abort(reason)
    await first
    assert.equal(await second, 1)
  })

  it('that searches or counts keeps no other page waiting', async (t) => {
    const { store, untilRunning } = await openEndless(t)
    const { order } = NEWEST_OF_YEARS
    const controller = new AbortController()
    const count = assert.rejects(store.count(SOME_YEARS, controller), reason)
    await untilRunning()
    // Neither would end.
    const words = store.page({ filter: { words: ['kept'] }, order }, undefined, PLENTY, controller)
    const search = assert.rejects(words, reason)
    assert.equal((await store.page({ filter: {}, order }, undefined, PLENTY)).count, 1)
    controller.abort(reason)
    await Promise.all([count, search])
  })

  it('is answered in turn with those of other clients', async (t) => {
    const { store, untilRunning } = await openEndless(t)
    const controller = new AbortController()
    const { signal } = controller
    const running = assert.rejects(store.count(SOME_YEARS, { client: 'a', signal }), reason)
    await untilRunning()
    const answered: string[] = []
    const ask = async (client: string) => {
      await store.count({}, { client })
      answered.push(client)
    }
    const asked = ['a', 'a', 'b'].map(ask)
    controller.abort(reason)
    await Promise.all([running, ...asked])
    assert.deepEqual(answered, ['b', 'a', 'a'])
  })

  it('fails when the store is closed meanwhile, and keeps neither it open nor lists waiting', async (t) => {
    const { store, untilRunning } = await openEndless(t)
    const asked = [store.count(SOME_YEARS), store.count({})].map((count) =>
      assert.rejects(count, StoreUnavailable),
    )
    await untilRunning()
    assert.equal((await store.page({ filter: {}, order: NEWEST_OF_YEARS.order }, undefined, PLENTY)).count, 1)
    assert.equal(store.load().queries_waiting, 2)
    await store.close()
    await Promise.all(asked)
  })

  it('is refused at once when very many wait', async (t) => {
    const { store, untilRunning } = await openEndless(t)
    const controller = new AbortController()
    const running = assert.rejects(store.count(SOME_YEARS, controller), reason)
    await untilRunning()
    const results = Promise.allSettled(Array.from({ length: MANY }, () => store.count({})))
    controller.abort(reason)
    await running
    const refused = (await results).flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    // The first may not have had its turn yet.
    assert.ok([0, 1].includes(refused.length - (MANY - MAX_WAITING)), `${refused.length} were refused`)
    for (const error of refused) assert.ok(error instanceof StoreUnavailable && error.reason === 'overload')
  })
})
