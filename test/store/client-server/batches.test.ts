import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { it, type TestContext } from 'node:test'
import type { Book, BookChanges } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import type { BookStatements } from '../../../src/store/client-server/batches.ts'
import type { Driver } from '../../../src/store/client-server/connections.ts'
import type { ShortBookRow } from '../../../src/store/client-server/page-sql.ts'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { mysqlBooks } from '../../../src/store/mysql/books.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import type { Schema } from '../../../src/store/mysql/schema.ts'
import { postgresBooks } from '../../../src/store/postgres/books.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { openSession, readRows, until } from '../../faults/engine-servers.ts'
import { inGroups, plain } from '../pages.ts'
import { onServers, prepareDatabase, WAITING } from './prepared-database.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** A year that administrators refuse in these tests. */
const REFUSED = 13

/** A database with everything. */
const SCHEMA: Schema = { hasKeys: true, hasWords: true, yearKey: 'year' }

/** The longest texts of a book in a batch, in bytes. */
const SHORT_SIZE = 32 * 1024

/** With any further text, more than half of what a batch may have. */
const HALF_BATCH = 'x'.repeat(128 * 1024)

/** What is published on a channel until the end of the test. */
function record(t: TestContext, channel: string): number[] {
  const messages: number[] = []
  const listen = (message: unknown) => void messages.push(message as number)
  subscribe(channel, listen)
  t.after(() => unsubscribe(channel, listen))
  return messages
}

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

const byId = (a: Book, b: Book) => a.id - b.id

/** Checks that these requests were refused, and no others. @returns the results of the others. */
async function onlyRefused<Result>(
  requests: readonly Promise<Result>[],
  isRefused: (index: number) => boolean,
): Promise<Result[]> {
  const results = await Promise.allSettled(requests)
  assert.deepEqual(
    results.map(({ status }) => status),
    results.map((_, i) => (isRefused(i) ? 'rejected' : 'fulfilled')),
  )
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

const bookNumber = (i: number) => ({ title: `title ${i}`, author: `author ${i}`, year: i })

const createMany = (store: Store, count: number): Promise<Book[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => store.create(bookNumber(i))))

const deleteAll = (store: Store, books: readonly Book[]) =>
  Promise.all(books.map(({ id }) => store.delete(id)))

onServers('requests at the same time', (engine, databases) => {
  const prepare = async (t: TestContext) => {
    const database = await prepareDatabase(t, databases)
    return { ...database, store: await database.open(10), on: await databases() }
  }

  it('create and find books, each its own, in few batches, and under ids in their order; updates and deletions share theirs', async (t) => {
    const { store, url, on } = await prepare(t)
    const writes = record(t, 'book-catalogue.group-commit')
    const created = plain(await createMany(store, 300))
    assert.deepEqual(
      created,
      created.toSorted(byId).map(({ id }, i) => ({ id, ...bookNumber(i) })),
    )
    assert.deepEqual(await readRows(on, url), created)
    assert.deepEqual([writes.length, total(writes)], [3, 300])
    const reads = record(t, 'book-catalogue.batched-reads')
    const [first, ...others] = created.slice(0, 50)
    assert.ok(first)
    const expected = [undefined, ...others, first, first]
    const found = await Promise.all(expected.map((book) => store.find(book?.id ?? first.id + 1000)))
    assert.deepEqual(
      found.map((book) => book && { ...book }),
      expected,
    )
    assert.deepEqual(reads, [expected.length])
    writes.splice(0)
    const updates = created.slice(0, 100).map((book, i) => {
      const changes = i % 2 === 0 ? { title: 'new' } : { year: -1 }
      return store.update(book.id, changes, i % 4 < 2 ? book : undefined)
    })
    const deletions = created
      .slice(100, 200)
      .map((book, i) => store.delete(book.id, i % 4 < 2 ? book : undefined))
    await Promise.all([...updates, ...deletions])
    // One for each set of fields, with what is expected and without, and two of deletions.
    assert.deepEqual([writes.length, total(writes)], [6, 200])
  })

  it('keep no long books in memory together', async (t) => {
    const { store, url } = await prepare(t)
    const short = await store.create({ ...BOOK, title: 'x'.repeat(SHORT_SIZE - 3), author: 'é ' })
    const long = await store.create({ ...BOOK, title: 'x'.repeat(SHORT_SIZE - 3), author: 'é  ' })
    const ids = [short.id, long.id]
    await using statements = await openStatements(url)
    const updated = await statements.update(ids, { year: 1 })
    const found = await statements.find(ids)
    const summary = ({ id, title, author }: ShortBookRow) => [id, title?.length, author]
    assert.deepEqual(updated.map(summary), [[short.id, SHORT_SIZE - 3, 'é ']])
    assert.deepEqual(found.map(summary), [...updated.map(summary), [long.id, undefined, null]])
    const longer = await Promise.all([1, 2].map((year) => store.create({ ...BOOK, title: HALF_BATCH, year })))
    const writes = record(t, 'book-catalogue.group-commit')
    await Promise.all(longer.map((book) => store.update(book.id, { author: 'B' }, book)))
    await Promise.all(longer.map((book) => store.delete(book.id, { ...book, author: 'B' })))
    assert.deepEqual(writes, [1, 1, 1, 1])
  })

  it('change nothing once the time of one of them is over', async (t) => {
    const { store, url, on } = await prepare(t)
    const book = await store.create(BOOK)
    const end = Date.now() - 1000
    for (const write of ['update', 'delete'] as const) {
      await using statements = await openStatements(url)
      await assert.rejects(
        write === 'update' ? statements.update([book.id], { year: 2 }, end) : statements.delete(book.id, end),
      )
    }
    assert.deepEqual(await readRows(on, url), plain([book]))
  })

  it('do not wait for those whose books others have locked, and these are counted in the load', async (t) => {
    const { store, url, query, on } = await prepare(t)
    // Few, so that a server might rather read the whole table than single books.
    const created = plain(await createMany(store, 40))
    // The index would wait for the locks, too.
    await store.count({ words: ['title'] })
    const [updated, deleted, third, ...others] = created
    assert.ok(updated && deleted && third)
    await using session = await openSession(url)
    await session.run('BEGIN')
    // One by one, so that MySQL locks no others.
    for (const { id } of [updated, deleted, third])
      await session.run(`SELECT id FROM books WHERE id = ${id} FOR UPDATE`)
    const waiting: Promise<unknown>[] = []
    for (const write of [
      () => store.update(updated.id, { title: 'waited' }, updated),
      () => store.delete(deleted.id),
      () => store.update(third.id, { year: -1 }),
    ]) {
      waiting.push(write())
      await until('it waits for the lock', async () => {
        return (await query(WAITING[engine])).length === waiting.length
      })
    }
    const behind = [1, 2].map((year) => store.update(third.id, { year }))
    await until('two wait for the third', () => store.load().requests_waiting === 2)
    for (let round = 0; round < 5; round++) {
      const deletions = deleteAll(store, others.splice(-3))
      const updates = others.map(({ id }) => store.update(id, { year: round }))
      const reads: Promise<Book | undefined>[] = [updated, deleted].map(({ id }) => store.find(id))
      for (const book of await Promise.all(updates)) assert.equal(book?.year, round)
      assert.deepEqual(await deletions, [true, true, true])
      assert.deepEqual(plain(await Promise.all(reads)), [updated, deleted])
      await store.create({ ...BOOK, year: round })
    }
    await session.run('COMMIT')
    await Promise.all([...waiting, ...behind])
    assert.equal(store.load().requests_waiting, 0)
    await until('all connections are idle', () => store.load().connections_used === 0)
    const rows = await readRows(on, url)
    assert.deepEqual(rows.slice(0, 2), [
      { ...updated, title: 'waited' },
      { ...third, year: 2 },
    ])
  })

  it('fail alone where a table refuses one of them, and the others are done once', async (t) => {
    const { store, run, url, on } = await prepare(t)
    await run(
      `ALTER TABLE books ADD CONSTRAINT lucky CHECK (year <> ${REFUSED})`,
      ...onBooks(engine, 'BEFORE DELETE', 'OLD.year', raise(engine), 30),
    )
    // Its connection is used again.
    await assert.rejects(store.import(inGroups([{ ...BOOK, year: REFUSED }])))
    const creations = Array.from({ length: 40 }, (_, year) =>
      store.create({ ...BOOK, title: `${year}`, year }),
    )
    const created = plain(await onlyRefused(creations, (year) => year === REFUSED)).toSorted(byId)
    assert.deepEqual(await readRows(on, url), created)
    const isLast = (i: number) => created[i]?.year === 30
    const updates = created.map(({ id, year }, i) =>
      store.update(id, { title: 'new', year: isLast(i) ? REFUSED : year }),
    )
    await onlyRefused(updates, isLast)
    const changed = created.map((book, i) => (isLast(i) ? book : { ...book, title: 'new' }))
    assert.deepEqual(await readRows(on, url), changed)
    await onlyRefused(
      changed.map(({ id }) => store.delete(id)),
      isLast,
    )
    assert.deepEqual(
      await readRows(on, url),
      changed.filter((_, i) => isLast(i)),
    )
  })

  if (engine === 'postgres')
    it('have their own responses if a trigger leaves out a book, whose creation fails', async (t) => {
      const { store, run, url, on } = await prepare(t)
      await run(...onBooks(engine, 'BEFORE INSERT', 'NEW.year', 'RETURN NULL'))
      const created: Book[] = []
      for (const years of [[...Array(30).keys()], [REFUSED, REFUSED], [REFUSED]]) {
        const creations = years.map((year) => store.create(bookNumber(year)))
        created.push(...(await onlyRefused(creations, (i) => years[i] === REFUSED)))
      }
      const years = created.map(({ year }) => year)
      assert.deepEqual(
        plain(created),
        created.map(({ id }, i) => ({ id, ...bookNumber(years[i] ?? 0) })),
      )
      assert.deepEqual(await readRows(on, url), plain(created).toSorted(byId))
    })
})

/** A trigger that does something to the book of this year. */
function onBooks(
  engine: 'postgres' | 'mysql',
  event: string,
  field: string,
  action: string,
  year = REFUSED,
): readonly string[] {
  if (engine === 'mysql') {
    return [`CREATE TRIGGER t ${event} ON books FOR EACH ROW IF ${field} = ${year} THEN ${action}; END IF`]
  }
  return [
    `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF ${field} = ${year} THEN ${action}; END IF; RETURN coalesce(NEW, OLD); END $$`,
    `CREATE TRIGGER t ${event} ON books FOR EACH ROW EXECUTE FUNCTION f()`,
  ]
}

const raise = (engine: 'postgres' | 'mysql') =>
  engine === 'postgres' ? "RAISE EXCEPTION 'refused'" : "SIGNAL SQLSTATE '45000'"

/** The statements for batches, on a connection of their own. */
function openStatements(url: string) {
  const dbUrl = parseDbUrl(url)
  assert.ok(dbUrl.engine !== 'sqlite')
  return dbUrl.engine === 'postgres'
    ? openOn(new PostgresDriver(dbUrl.target), postgresBooks(SCHEMA))
    : openOn(new MysqlDriver(dbUrl.target), mysqlBooks(SCHEMA))
}

async function openOn<Connection>(driver: Driver<Connection>, statements: BookStatements<Connection>) {
  const connection = await driver.connect()
  return {
    find: (ids: readonly number[]) => statements.find(connection, ids),
    update(ids: readonly number[], changes: BookChanges, end = Date.now() + 60_000) {
      const updates = ids.map((id) => ({ id, changes, expected: undefined }))
      return statements.update(connection, updates, end, false)
    },
    delete: (id: number, end: number) =>
      statements.delete(connection, [{ id, expected: undefined }], end, false),
    [Symbol.asyncDispose]: () => driver.end(connection),
  }
}
