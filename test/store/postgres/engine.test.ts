import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { type ImportedBook, StoreUnavailable } from '../../../src/catalogue/store.ts'
import { isReadOnly, PostgresDriver, serverTime } from '../../../src/store/postgres/driver.ts'
import { postgresImport } from '../../../src/store/postgres/import.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { openSession, until } from '../../faults/engine-servers.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { type PreparedDatabase, prepareDatabase, untilGivenUp } from '../client-server/prepared-database.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase } from '../new-database.ts'
import { inGroups, listAll } from '../pages.ts'

const MANY = 3000

const manyBooks = (author: string, count = MANY) =>
  inGroups(Array.from({ length: count }, (_, i) => ({ title: `Title ${i}`, author, year: i % 100 })))

describe('PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')
  storeContract('PostgreSQL', async () => openNewDatabase(await databases()))

  it('takes the clock of the server for no later than it is, also when the question is long on its way', async (t) => {
    const { url } = await prepareDatabase(t, databases)
    const driver = new PostgresDriver(parsePostgresUrl(url))
    const client = await driver.connect()
    const before = client.query('SELECT pg_sleep(0.2)')
    await isReadOnly(client)
    const offset = serverTime(client, 0)
    await before
    await driver.end(client)
    // It has the clock of this machine. A busy one may add some seconds.
    assert.ok(offset <= 0 && offset > -30, `${offset} s`)
  })

  it('is given the options of DB_URL, and the name of the service', async (t) => {
    const { url } = await prepareDatabase(t, databases)
    const driver = new PostgresDriver({ ...parsePostgresUrl(url), options: '-c work_mem=1234kB' })
    const client = await driver.connect()
    const { rows } = await client.query(
      "SELECT current_setting('work_mem') AS memory, current_setting('application_name') AS name",
    )
    await driver.end(client)
    assert.deepEqual(rows, [{ memory: '1234kB', name: 'book-catalogue' }])
  })

  it('says at start which of its indexes a renamed table has kept, and goes on without', async (t) => {
    const { open, run, reports } = await prepareDatabase(t, databases)
    await (await open()).close()
    await run('ALTER TABLE books RENAME TO books_old')
    const store = await open()
    assert.match(String(reports), /index sort_keys_3_due belongs to the table books_old: rename or drop it\b/)
    assert.match(String(reports), /index books_by_search_words_2 belongs to the table books_old\b/)
    await store.create({ title: 'T', author: 'A', year: 1 })
  })

  it('replaces an index that an interrupted start has left invalid, also in a small table', async (t) => {
    const { open, run, query } = await prepareDatabase(t, databases)
    await (await open()).close()
    const index = "'books_by_title_key_3'::regclass"
    await run(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = ${index}`)
    await (await open()).close()
    assert.deepEqual(await query(`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = ${index}`), [
      { valid: true },
    ])
  })

  it('keeps no writes of others waiting behind an index, which waits for those before it', async (t) => {
    const { url, open, run, query } = await prepareDatabase(t, databases)
    await (await open()).close()
    await run('DROP INDEX books_by_title_key_3')
    await using session = await openSession(url)
    await session.run("BEGIN; INSERT INTO books (title, author, year) VALUES ('', '', 0)")
    const opening = open()
    await untilGivenUp('postgres', query)
    await session.run('COMMIT')
    await opening
  })

  it('takes no index of another schema for its own, nor drops it', async (t) => {
    const { url, open, run, query } = await prepareDatabase(t, databases)
    const name = nameIn(url)
    await (await open()).close()
    await run(
      `CREATE SCHEMA theirs AUTHORIZATION ${name}`,
      `SET LOCAL ROLE ${name}; CREATE TABLE theirs.books (id bigserial PRIMARY KEY, title text, author text, year bigint)`,
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'books_by_title_key_3'::regclass",
      `ALTER ROLE ${name} SET search_path = theirs, public`,
    )
    await (await open()).close()
    const count =
      "SELECT schemaname AS schema, count(*)::int FROM pg_indexes WHERE tablename = 'books' GROUP BY 1 ORDER BY 1"
    assert.deepEqual(await query(count), [
      { schema: 'public', count: 7 },
      { schema: 'theirs', count: 7 },
    ])
  })

  it('gives a large table its indexes also if it is partitioned', async (t) => {
    const { open, reports } = await prepareDatabase(t, databases, (name) => [
      `SET LOCAL ROLE ${name};
       CREATE TABLE books (id bigserial, title text, author text, year bigint) PARTITION BY HASH (id);
       CREATE TABLE books_1 PARTITION OF books FOR VALUES WITH (MODULUS 1, REMAINDER 0);
       INSERT INTO books (title, author, year) SELECT 'T', 'A', 1 FROM generate_series(1, 10001)`,
    ])
    const store = await open()
    assert.deepEqual(reports, [])
    assert.equal((await store.create({ title: 'T', author: 'A', year: 1 })).id, 10_002)
  })

  it('continues the ids of a sequence that belongs to no column, after books were stored under their own', async (t) => {
    const { open } = await prepareDatabase(t, databases, () => [
      'CREATE SCHEMA others',
      'CREATE SEQUENCE others.numbers',
      `CREATE TABLE books (
        id bigint PRIMARY KEY DEFAULT nextval('others.numbers'), title text, author text, year bigint)`,
      'GRANT ALL ON books, others.numbers TO PUBLIC',
    ])
    const store = await open()
    const book = { title: 'T', author: 'A', year: 1 }
    await store.import(inGroups([{ id: 5, ...book }]), { keepIds: true })
    assert.equal((await store.create(book)).id, 6)
  })

  it('goes on above the ids that other programs have given to their books', async (t) => {
    const { open, run } = await prepareDatabase(t, databases)
    const store = await open()
    const book = { title: 'T', author: 'A', year: 1 }
    const together = () => Promise.all([book, book, book].map((each) => store.create(each)))
    // Nothing could follow this one.
    await run(`INSERT INTO books (id, title, author, year) VALUES (${Number.MAX_SAFE_INTEGER}, 'T', 'A', 1)`)
    for (const write of [together, () => store.import(inGroups([book, book, book], 1))]) {
      await run(`INSERT INTO books (id, title, author, year) SELECT last + k, 'T', 'A', 1
        FROM (SELECT coalesce(max(id), 0) AS last FROM books WHERE id < 1000) found, generate_series(1, 300) AS k`)
      await write()
    }
    const ids = (await listAll(store)).map(({ id }) => id)
    assert.equal(ids.length, 607)
    // At most one number is skipped for each.
    assert.ok(Number(ids.at(-2)) <= 610, `${ids.at(-2)}`)
  })

  for (const [what, ...statements] of [
    [
      'a trigger',
      "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      'CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON books FOR EACH ROW EXECUTE FUNCTION keep()',
    ],
    [
      'row security',
      'ALTER TABLE books ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
      'CREATE POLICY reads ON books FOR SELECT USING (true)',
    ],
  ] as const)
    it(`takes no book for gone that ${what} keeps as it is, and refuses to change it`, async (t) => {
      const { open, run } = await prepareDatabase(t, databases)
      const store = await open()
      const book = await store.create({ title: 'T', author: 'A', year: 1 })
      await run(...statements)
      for (const expected of [undefined, book]) {
        assert.deepEqual(await store.update(book.id, {}, expected), book)
        assert.deepEqual(await store.update(book.id, { title: 'T' }, expected), book)
      }
      for (const write of [() => store.update(book.id, { year: 2 }), () => store.delete(book.id, book)])
        await assert.rejects(
          write,
          (error) => error instanceof StoreUnavailable && error.nothingWritten && error.reason === 'conflict',
        )
      assert.equal(await store.update(book.id, { year: 2 }, { ...book, year: 3 }), undefined)
      assert.equal(await store.delete(book.id + 1), false)
    })

  it('says that it has no password, where the server asks for one', async (t) => {
    const { url } = await prepareDatabase(t, databases)
    const driver = new PostgresDriver({ ...parsePostgresUrl(url), password: undefined })
    await assert.rejects(driver.connect(), /asks for a password, and there is none in DB_URL, PGPASSWORD or /)
  })

  /** How often, since a store was closed, the server has scanned indexes like this, or read entries of them. */
  const scanned = async ({ query }: PreparedDatabase, what: 'idx_scan' | 'idx_tup_read', like = '%') => {
    const [row] = await query(
      `SELECT sum(${what}) AS count FROM pg_stat_user_indexes WHERE indexrelname LIKE '${like}'`,
    )
    return Number(row?.count)
  }

  for (const there of [1, MANY])
    it(`looks up each imported book by its title, though the server takes ${there} books for none`, async (t) => {
      const database = await prepareDatabase(t, databases)
      const store = await database.open()
      // An import would make new statistics.
      await database.run(`INSERT INTO books (title, author, year)
        SELECT 'Title ' || k, 'A', k % 100 FROM generate_series(1, ${there}) AS k`)
      const imported = await store.import(manyBooks('B', 12_000), { skipExisting: true })
      assert.deepEqual(imported, { added: 12_000, skipped: 0 })
      await store.close()
      assert.ok((await scanned(database, 'idx_scan', 'books_by_title_key_3')) >= 12_000)
      assert.ok((await scanned(database, 'idx_scan', '%year%')) < 500)
    })

  it('compares an imported book with one of the equal ones that were there before, and none of the import', async (t) => {
    const database = await prepareDatabase(t, databases)
    const equal = () => inGroups(Array(2000).fill({ id: 1, title: 'T', author: 'A', year: 1 }), 100)
    for (const skipped of [0, 2000]) {
      const store = await database.open()
      const imported = await store.import(equal(), { skipExisting: true })
      assert.deepEqual(imported, { added: 2000 - skipped, skipped })
      await store.close()
    }
    assert.ok((await scanned(database, 'idx_tup_read')) < 30_000)
  })

  it('makes the statistics after an import, though ANALYZE ran in its middle', async (t) => {
    const { open, run, query } = await prepareDatabase(t, databases)
    const store = await open()
    await run('ALTER TABLE books SET (autovacuum_enabled = false)')
    async function* books(): AsyncGenerator<readonly ImportedBook[]> {
      yield* manyBooks('A')
      // The books are there, and not committed.
      await run('ANALYZE books')
    }
    await store.import(books())
    await store.close()
    const [row] = await query("SELECT reltuples FROM pg_class WHERE oid = 'books'::regclass")
    assert.equal(Number(row?.reltuples), MANY)
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
    await store.create({ title: 'T', author: 'A', year: 1 })
    await store.close()
    await until('the server has ended that', async () => (await analyzing()) === 0)
  })

  for (const [options, ids] of [
    [{ skipExisting: true }, 'BY DEFAULT'],
    [{ keepIds: true }, 'BY DEFAULT'],
    [{ keepIds: true }, 'ALWAYS'],
  ] as const)
    it(`stores the words of imported books with them, if they are short: ${JSON.stringify(options)}, ids generated ${ids}`, async (t) => {
      const { open, run, query } = await prepareDatabase(t, databases)
      const store = await open()
      await run(`ALTER TABLE books ALTER id SET GENERATED ${ids}`)
      const titles = [...Array<string>(MANY).fill('Title'), 'Title '.repeat(100)]
      const books = titles.map((title, i) => ({ id: i + 1, title, author: 'A', year: 1 }))
      await store.import(inGroups(books, 500), options)
      while ((await store.count({ words: ['title'] })) <= MANY);
      await store.close()
      // A row that was changed afterwards is of another transaction.
      const rows = await query('SELECT count(*)::int AS books FROM books GROUP BY xmin::text ORDER BY 1')
      assert.deepEqual(
        rows.map(({ books }) => books),
        [1, MANY],
      )
    })
})

it('an import makes the words of costly books in short turns, between which others have theirs', async () => {
  const text = '㌖'.repeat(250)
  const books = Array.from({ length: 400 }, () => ({ title: text, author: text, year: 1 }))
  let turns = 0
  let isSent = false
  const query = async () => {
    isSent = true
    return { rowCount: books.length }
  }
  const count = () => {
    if (isSent) return
    turns++
    setImmediate(count)
  }
  count()
  const importing = postgresImport(
    { query } as unknown as pg.Client,
    { hasKeys: true, hasWords: true },
    { keepIds: false, hasAllKeys: true },
  )
  await importing.insert(books, undefined)
  assert.equal(await importing.stored(), books.length)
  assert.ok(turns >= 5, `${turns} turns`)
})

it('an import tells why the server has refused a group, and sends no further one', async () => {
  const refused = new Error('the disk is full')
  let sent = 0
  const query = async () => {
    sent++
    throw refused
  }
  const importing = postgresImport(
    { query } as unknown as pg.Client,
    { hasKeys: false, hasWords: false },
    { keepIds: false, hasAllKeys: false },
  )
  await importing.insert([], undefined)
  await assert.rejects(importing.insert([], undefined), refused)
  assert.equal(sent, 1)
})
