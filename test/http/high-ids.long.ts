import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { ServiceInUse } from '../support/use-service.ts'

/** Where ids go on from: before powers of two, and near the highest that there may be. */
const FIRST_IDS = [2 ** 31 - 3, 2 ** 32 - 3, 2 ** 53 - 2 ** 20]

for (const engine of ENGINES)
  describe(`books with high ids (${engine})`, { skip: engineMissing(engine) }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)

    it('are created, read, listed from page to page, changed and deleted as others are', async (t) => {
      const on = await databases?.()
      const DB_URL = (await on?.createDatabase()) ?? 'sqlite:books.db'
      const service = new ServiceInUse({ DB_URL }, [])
      await service.start()
      t.after(() => service.end())
      for (const first of FIRST_IDS) {
        if (on !== undefined) {
          const change = engine === 'mysql' ? 'AUTO_INCREMENT =' : 'ALTER id RESTART WITH'
          await on.query(`ALTER TABLE books ${change} ${first}`, DB_URL)
        } else {
          using database = new DatabaseSync(join(service.directory, 'books.db'), { timeout: 60_000 })
          database.exec("DELETE FROM sqlite_sequence WHERE name = 'books'")
          database.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('books', ${first - 1})`)
        }
        const ids: number[] = []
        for (let i = 0; i < 6; i++) ids.push(await service.createBook({ title: `From ${first}`, year: i }))
        assert.deepEqual(
          ids,
          Array.from(ids, (_, i) => first + i),
        )
        const headers = { authorization: service.token }
        const listed: number[] = []
        for (let next = `books?title=From+${first}&sort=-year&limit=2`; next !== ''; ) {
          const response = await fetch(`${service.url}/${next}`, { headers })
          listed.push(...((await response.json()) as { data: { id: number }[] }).data.map(({ id }) => id))
          next = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1] ?? ''
        }
        assert.deepEqual(listed, ids.toReversed())
        for (const id of ids) {
          assert.deepEqual(await service.updateBook(id, { year: 7 }), await service.readBook(id))
          await service.deleteBook(id)
        }
        assert.deepEqual(await service.listBooks(), [])
      }
    })
  })
