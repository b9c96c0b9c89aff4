import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import type { ImportedBook } from '../../../src/catalogue/store.ts'
import { postgresImport } from '../../../src/store/postgres/import.ts'
import { until } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { prepareDatabase } from '../client-server/prepared-database.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase } from '../new-database.ts'

const MANY = 3000

async function* manyBooks(author: string, count = MANY): AsyncGenerator<ImportedBook[]> {
  for (let i = 0; i < count; i += 1000)
    yield Array.from({ length: 1000 }, (_, k) => ({ title: `Title ${i + k}`, author, year: k % 100 }))
}

describe('PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')
  storeContract('PostgreSQL', async () => openNewDatabase(await databases()))

  it('looks up each imported book by its title, though the server takes the table for empty', async (t) => {
    const { open, run, query } = await prepareDatabase(t, databases)
    const store = await open()
    // An import would make new statistics.
    await run("INSERT INTO books (title, author, year) VALUES ('Title 1', 'A', 1)")
    const imported = await store.import(manyBooks('B', 12_000), { skipExisting: true })
    assert.deepEqual(imported, { added: 12_000, skipped: 0 })
    // The server counts what a connection has done when it ends.
    await store.close()
    const [row] = await query(
      "SELECT idx_scan AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'books_by_title_key_3'",
    )
    assert.ok(Number(row?.scans) >= 12_000, `${row?.scans}`)
  })

  it('makes nobody wait for the statistics, and does not go on with them when it is closed', async (t) => {
    const { open, run, query } = await prepareDatabase(t, databases)
    const store = await open(2)
    await run(
      `CREATE FUNCTION slow_for_analyze(title text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
       BEGIN IF current_query() LIKE '%ANALYZE books' THEN PERFORM pg_sleep(1000); END IF; RETURN 1; END $$`,
      'CREATE INDEX ON books (slow_for_analyze(title))',
    )
    const analyzing = async () => {
      const sessions = await query(`
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE '%; ANALYZE books'`)
      return sessions.length
    }
    await store.import(manyBooks('A'))
    await until('the server makes statistics', async () => (await analyzing()) === 1)
    assert.equal(await store.count({}), MANY)
    assert.equal((await store.create({ title: 'T', author: 'A', year: 1 })).title, 'T')
    await store.close()
    await until('the server has ended that', async () => (await analyzing()) === 0)
  })
})

it('an import makes the words of costly books in short turns, between which others have theirs', async () => {
  const text = '㌖'.repeat(250)
  const books = Array.from({ length: 400 }, () => ({ title: text, author: text, year: 1 }))
  let turns = 0
  let isSent = false
  const response = Promise.withResolvers<{ rowCount: number }>()
  const query = () => {
    isSent = true
    return response.promise
  }
  const count = () => {
    if (isSent) return
    turns++
    setImmediate(count)
  }
  count()
  const importing = postgresImport({ query } as unknown as pg.Client, { hasKeys: true, hasWords: true })
  // The next books are read while the server stores these.
  await importing.insert(books, undefined)
  response.resolve({ rowCount: books.length })
  assert.equal(await importing.stored(), books.length)
  assert.ok(turns >= 5, `${turns} turns`)
})
