import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Book } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { connections, killConnection, openSession, readRows, until } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'
import { plain } from '../pages.ts'
import { createMany, lockBooks } from './many-books.ts'
import { prepareStore } from './prepared-database.ts'

/** Of requests that wait in vain: more than a machine stands still, in milliseconds. */
const DEADLINE = 8000

const BOOK = { title: 'T', author: 'A', year: 1 }

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

    it('of two stores that write the same books in opposite orders: none fails, and the last write counts', async (t) => {
      const { store, open, url, on } = await prepare(t)
      const stores = [store, await open()]
      const ids = (await createMany(store, 50)).map(({ id }) => id)
      const end = Date.now() + 2000
      /** The last writes of each store, by book. */
      const last = await Promise.all(
        stores.map(async (store, number) => {
          const titles = new Map<number, string>()
          for (let round = 0; Date.now() < end; round++) {
            const order = number === 0 ? ids : ids.toReversed()
            await Promise.all(
              order.map(async (id) => {
                const title = `${number}: ${round}`
                const updated = await store.update(id, { title })
                assert.equal(updated?.title, title)
                titles.set(id, title)
              }),
            )
          }
          return titles
        }),
      )
      for (const { id, title } of await readRows(on, url))
        assert.ok(
          last.some((titles) => titles.get(id) === title),
          `book ${id} is "${title}"`,
        )
    })

    it('of two stores that change books if they are as expected: one of them changes each', async (t) => {
      const { store, open, url, on } = await prepare(t)
      const stores = [store, await open()]
      let books = plain(await createMany(store, 50))
      let both = 0
      for (let round = 1; round <= 30; round++) {
        const written = await Promise.all(
          stores.map(async (store, number) => {
            const ordered = number === 0 ? books : books.toReversed()
            const changes = { title: `${number}: ${round}` }
            const written: (Book | undefined)[] = []
            // In parts, so that each store is the first with some of the books.
            for (let i = 0; i < ordered.length; i += 10) {
              const part = ordered.slice(i, i + 10)
              written.push(...(await Promise.all(part.map((book) => store.update(book.id, changes, book)))))
            }
            return written
          }),
        )
        const winners = written.flat().filter((book) => book !== undefined)
        assert.equal(winners.length, books.length)
        books = plain(winners).toSorted((a, b) => a.id - b.id)
        assert.deepEqual(await readRows(on, url), books)
        both += new Set(books.map(({ title }) => title)).size - 1
      }
      const deleted = await Promise.all(
        stores.map((store) => Promise.all(books.map((book) => store.delete(book.id, book)))),
      )
      const [ours = [], theirs = []] = deleted
      for (const [i, book] of books.entries()) assert.notEqual(ours[i], theirs[i], `deletions of ${book.id}`)
      assert.ok(both > 0, 'no round had two winners: nothing is shown')
    })

    it('are each done at most once, and those that are answered once, while connections are killed', async (t) => {
      const { store, url, on } = await prepare(t)
      const ids = (await createMany(store, 20)).map(({ id }) => id)
      const answered: string[] = []
      const asked: string[] = []
      const acknowledged = new Map<number, number>()
      let killed = 0
      let isOver = false
      const assertUnavailable = (error: unknown) => {
        assert.ok(error instanceof StoreUnavailable, String(error))
      }
      const creating = Array.from({ length: 20 }, async (_, number) => {
        for (let round = 0; !isOver; round++) {
          const title = `${number}: ${round}`
          asked.push(title)
          await store.create({ ...BOOK, title }).then((book) => {
            assert.equal(book.title, title)
            answered.push(title)
          }, assertUnavailable)
        }
      })
      // Each counts a book up. A write that was lost after its response, or done again later, breaks the row.
      const counting = ids.map(async (id) => {
        for (let book = await store.find(id), year = 1; !isOver; ) {
          try {
            book = await store.update(id, { year: year + 1 })
            assert.equal(book?.year, ++year)
            acknowledged.set(id, year)
            assert.equal((await store.find(id))?.year, year)
          } catch (error) {
            if (!(error instanceof StoreUnavailable)) throw error
          }
        }
      })
      for (let kill = 0; kill < 15 || (killed <= 10 && kill < 150); kill++) {
        await sleep(100)
        for (const id of await connections(on, url)) {
          if (id % 2 !== kill % 2) continue
          await killConnection(on, id)
          killed++
        }
      }
      isOver = true
      await Promise.all([...creating, ...counting])
      const rows = await readRows(on, url)
      const titles = rows.map(({ title }) => title).filter((title) => /^\d+: \d+$/.test(title))
      assert.equal(new Set(titles).size, titles.length, 'a book is there twice')
      assert.deepEqual(new Set(answered).difference(new Set(titles)), new Set())
      assert.deepEqual(new Set(titles).difference(new Set(asked)), new Set())
      assert.ok(killed > 10, `${killed} connections were killed`)
      for (const { id, year } of rows)
        if (ids.includes(id)) assert.ok([0, 1].includes(year - (acknowledged.get(id) ?? 1)), `${id}: ${year}`)
    })
  })
}

/** Finds statements that wait for a lock, without those of the search index, which try again for as long as there is one. */
const RUNNING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE command <> 'Sleep' AND db = DATABASE() AND id <> CONNECTION_ID() AND info NOT LIKE '%\\_due = 1%'`,
}
