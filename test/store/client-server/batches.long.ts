import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { openSession, readRows, until } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'
import { plain } from '../pages.ts'
import { createMany, lockBooks } from './many-books.ts'
import { prepareStore } from './prepared-database.ts'

/** Of requests that wait in vain: more than a machine stands still, in milliseconds. */
const DEADLINE = 8000

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`requests at the same time as others, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)

    const prepare = (t: TestContext) => prepareStore(t, databases)

    it('are refused if their book stays locked, and those that waited are never stored', async (t) => {
      const { url, on } = await prepare(t)
      const store = await openPatiently(url, { timeout: DEADLINE })
      t.after(() => store.close())
      const [locked, other] = plain(await createMany(store, 2))
      assert.ok(locked && other)
      await using session = await openSession(url)
      await lockBooks(session, locked)
      const writes = [
        ...['a', 'b', 'c'].map((title) => store.update(locked.id, { title })),
        store.delete(locked.id),
        store.delete(locked.id),
      ]
      const results = await Promise.allSettled(writes)
      for (const result of results)
        assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
      await until('no statement waits', async () => (await on.query(RUNNING[engine], url)).length === 0)
      await session.run('COMMIT')
      assert.equal((await store.update(other.id, { year: 2 }))?.year, 2)
      assert.deepEqual(await readRows(on, url), [locked, { ...other, year: 2 }])
      assert.equal((await store.update(locked.id, { year: 3 }))?.year, 3)
    })
  })
}

/** Finds statements that wait for a lock, without those of the search index, which try again for as long as there is one. */
const RUNNING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE command <> 'Sleep' AND db = DATABASE() AND id <> CONNECTION_ID() AND info NOT LIKE '%\\_due = 1%'`,
}
