import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onEachServer } from '../../faults/engine-servers.ts'
import { openPatiently } from '../new-database.ts'
import { GORM } from './tables-of-others.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** How many of five books are deleted. */
const DELETIONS = { 'the newest books were': 2, 'all books were': 5 }

onEachServer('an id is never given again', (server, engine) => {
  const tables = { 'its own table': undefined, 'a table of GORM': GORM[engine] }

  for (const how of ['clean', 'kill'] as const)
    it(`after books were deleted and the server restarted (${how})`, async () => {
      const databases: { url: string; ids: number[]; after: string }[] = []
      for (const [table, sql] of Object.entries(tables))
        for (const [what, deleted] of Object.entries(DELETIONS)) {
          const url = await server().createDatabase()
          if (sql !== undefined) await server().query(sql, url)
          const store = await openPatiently(url)
          const ids: number[] = []
          for (let i = 0; i < 5; i++) ids.push((await store.create(BOOK)).id)
          for (const id of ids.slice(-deleted)) assert.ok(await store.delete(id))
          await store.close()
          databases.push({ url, ids, after: `${what} deleted, in ${table}` })
        }
      await server().stop(how)
      await server().start()
      for (const { url, ids, after } of databases) {
        const store = await openPatiently(url)
        const { id } = await store.create(BOOK)
        await store.close()
        assert.ok(id > Math.max(...ids), `${id} after ${ids}: ${after}`)
      }
    })
})
