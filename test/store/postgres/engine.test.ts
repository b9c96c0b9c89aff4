import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ImportedBook } from '../../../src/catalogue/store.ts'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { openStore } from '../../../src/store/open.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase } from '../new-database.ts'

const MANY = 3000

describe('PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')
  storeContract('PostgreSQL', async () => openNewDatabase(await databases()))

  it('looks up each imported book in an index, though its statistics are of an empty table', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openStore(parseDbUrl(url))
    async function* books(author: string): AsyncGenerator<ImportedBook[]> {
      for (let i = 0; i < MANY; i += 1000)
        yield Array.from({ length: 1000 }, (_, k) => ({ title: `Title ${i + k}`, author, year: k % 100 }))
    }
    await store.import(books('A'), { dryRun: true })
    await on.query('ANALYZE books', url)
    await store.import(books('A'))
    const lookups = async () => {
      const [row] = await on.query(
        "SELECT sum(idx_scan) AS scans FROM pg_stat_user_indexes WHERE indexrelname ~ '^books_by_(year_)?title$'",
        url,
      )
      return Number(row?.scans)
    }
    const imported = await store.import(books('B'), { skipExisting: true })
    assert.deepEqual(imported, { added: MANY, skipped: 0 })
    // A connection tells what it has done at the latest when it ends.
    await store.close()
    assert.ok((await lookups()) >= MANY, `${await lookups()} look-ups`)
  })

  for (const options of [{}, { skipExisting: true }, { keepIds: true }])
    it(`stores the words of imported books with them, if they are short: ${JSON.stringify(options)}`, async (t) => {
      const on = await databases()
      const url = await on.createDatabase()
      t.after(() => on.dropDatabase(url))
      const store = await openStore(parseDbUrl(url))
      const long = { title: 'Title '.repeat(100), author: 'A', year: 1 }
      async function* books(): AsyncGenerator<ImportedBook[]> {
        for (let id = 1; id <= MANY; id++) yield [{ id, title: `Title ${id}`, author: 'A', year: 1 }]
        yield [{ id: MANY + 1, ...long }]
      }
      await store.import(books(), options)
      let found = 0
      do found = await store.count({ words: ['title'] })
      while (found <= MANY)
      await store.close()
      // A row that was changed afterwards is of another transaction.
      const rows = await on.query(
        'SELECT count(*)::int AS books FROM books GROUP BY xmin::text ORDER BY 1',
        url,
      )
      assert.deepEqual(
        rows.map(({ books }) => books),
        [1, MANY],
      )
    })
})
