import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ImportedBook } from '../../../src/catalogue/store.ts'
import { until } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase, openPatiently } from '../new-database.ts'

const MANY = 3000

async function* manyBooks(author: string): AsyncGenerator<ImportedBook[]> {
  for (let i = 0; i < MANY; i += 1000)
    yield Array.from({ length: 1000 }, (_, k) => ({ title: `Title ${i + k}`, author, year: k % 100 }))
}

describe('PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')
  storeContract('PostgreSQL', async () => openNewDatabase(await databases()))

  it('looks up each imported book in an index, though its statistics are of an empty table', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openPatiently(url)
    // An import would make new ones.
    await on.query(
      `INSERT INTO books (title, author, year)
       SELECT 'Title ' || k, 'A', k % 100 FROM generate_series(0, ${MANY - 1}) AS k`,
      url,
    )
    const lookups = async () => {
      const [row] = await on.query(
        "SELECT sum(idx_scan) AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'books_by_title_key_3'",
        url,
      )
      return Number(row?.scans)
    }
    const imported = await store.import(manyBooks('B'), { skipExisting: true })
    assert.deepEqual(imported, { added: MANY, skipped: 0 })
    // A connection tells what it has done at the latest when it ends.
    await store.close()
    assert.ok((await lookups()) >= MANY, `${await lookups()} look-ups`)
  })

  it('compares the books of an import with what was there before, not with each other', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openPatiently(url)
    async function* equal(): AsyncGenerator<ImportedBook[]> {
      for (let i = 0; i < 20; i++) yield Array(100).fill({ id: 1, title: 'T', author: 'A', year: 1 })
    }
    assert.deepEqual(await store.import(equal(), { skipExisting: true }), { added: 2000, skipped: 0 })
    await store.close()
    const [row] = await on.query(
      "SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE relname = 'books'",
      url,
    )
    assert.ok(Number(row?.read) < 20_000, `${row?.read} entries`)
  })

  it('knows how many books there are after an import, though ANALYZE ran in its middle', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openPatiently(url)
    await on.query('ALTER TABLE books SET (autovacuum_enabled = false)', url)
    const known = async () => {
      const [row] = await on.query("SELECT reltuples FROM pg_class WHERE oid = 'books'::regclass", url)
      return Number(row?.reltuples)
    }
    async function* books(): AsyncGenerator<ImportedBook[]> {
      yield* manyBooks('A')
      // The books are there, and not committed.
      await on.query('ANALYZE books', url)
      assert.equal(await known(), 0)
    }
    await store.import(books())
    await store.close()
    assert.equal(await known(), MANY)
  })

  it('makes nobody wait for the statistics, and does not go on with them when it is closed', {
    timeout: 60_000,
  }, async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openPatiently(url, { connections: 2 })
    for (const sql of [
      `CREATE FUNCTION slow_for_analyze(title text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
       BEGIN IF current_query() LIKE '%ANALYZE books' THEN PERFORM pg_sleep(1000); END IF; RETURN 1; END $$`,
      'CREATE INDEX ON books (slow_for_analyze(title))',
    ])
      await on.query(sql, url)
    const analyzing = async () =>
      (
        await on.query(
          `SELECT pid FROM pg_stat_activity
           WHERE datname = current_database() AND state = 'active' AND query LIKE '%; ANALYZE books'`,
          url,
        )
      ).length
    await store.import(manyBooks('A'))
    await until('the server makes statistics', async () => (await analyzing()) === 1)
    assert.equal(await store.count({}), MANY)
    assert.equal((await store.create({ title: 'T', author: 'A', year: 1 })).title, 'T')
    await store.close()
    await until('the server has ended that', async () => (await analyzing()) === 0)
  })

  for (const options of [{}, { skipExisting: true }, { keepIds: true }])
    it(`stores the words of imported books with them, if they are short: ${JSON.stringify(options)}`, async (t) => {
      const on = await databases()
      const url = await on.createDatabase()
      t.after(() => on.dropDatabase(url))
      const store = await openPatiently(url)
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
