import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onEachServer } from '../../faults/engine-servers.ts'
import { openPatiently } from '../new-database.ts'
import { GORM } from './tables-of-others.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

onEachServer(
  'an id is never given again',
  (server, engine) =>
    it('after the newest books, or all, were deleted and the server was restarted or killed', async () => {
      const databases: { url: string; table: string; deleted: number; last: number }[] = []
      for (const table of ['', GORM[engine]])
        for (const deleted of [2, 5]) {
          const url = await server().createDatabase()
          if (table !== '') await server().query(table, url)
          databases.push({ url, table, deleted, last: 0 })
        }
      const assertLater = ({ last, deleted, table }: (typeof databases)[number], id = 0) =>
        assert.ok(id > last, `${id} after ${last}: ${deleted} of 5 deleted, ${table}`)
      for (const how of ['clean', 'kill'] as const) {
        for (const database of databases) {
          const store = await openPatiently(database.url)
          const ids: number[] = []
          for (let i = 0; i < 5; i++) ids.push((await store.create(BOOK)).id)
          assertLater(database, ids[0])
          for (const id of ids.slice(-database.deleted)) assert.ok(await store.delete(id))
          database.last = Math.max(...ids)
          await store.close()
        }
        await server().stop(how)
        await server().start()
      }
      for (const database of databases) {
        const store = await openPatiently(database.url)
        assertLater(database, (await store.create(BOOK)).id)
        await store.close()
      }
    }),
  { concurrency: true },
)
