import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Book, BookChanges } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import type { BookStatements } from '../../../src/store/client-server/batches.ts'
import type { Driver } from '../../../src/store/client-server/connections.ts'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { mysqlBooks } from '../../../src/store/mysql/books.ts'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import * as mysql from '../../../src/store/mysql/errors.ts'
import type { Schema } from '../../../src/store/mysql/schema.ts'
import { postgresBooks } from '../../../src/store/postgres/books.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import * as postgres from '../../../src/store/postgres/errors.ts'
import { openSession, readRows, serverMissing, startServer, until } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'
import { listAll } from '../pages.ts'
import {
  assertAscending,
  assertOnlyRefused,
  assertSameBooks,
  bookNumber,
  createMany,
  lockBooks,
  plain,
  record,
  total,
} from './many-books.ts'
import { prepareDatabase, prepareStore } from './prepared-database.ts'
import { restrict, TABLES } from './tables-of-others.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** A year that administrators refuse in these tests. */
const REFUSED = 13

/** A database with everything. */
const SCHEMA: Schema = { hasKeys: true, hasWords: true, yearKey: 'year' }

/** The longest texts of a book in a batch, in bytes. */
const SHORT_SIZE = 32 * 1024

/** Texts that a statement for many books might change, or take for something else. */
const TEXTS = [
  '',
  ' ',
  'spaces at the end  ',
  'NULL',
  'null',
  "'",
  '"',
  "''",
  '\\',
  "\\'",
  '\\\\"',
  '{}',
  '{NULL,"x"}',
  ',',
  '(1,2)',
  "x'), ('y",
  '?',
  '??',
  '$1',
  ':title',
  '\n',
  'a\r\nb\t',
  '\u0001\u001b\u007f',
  '📚👩‍👩‍👧',
  'é',
  'e\u0301',
  '0x41',
  '-1',
  'Dune',
  'dune',
]

/** Errors after which the work may have been done, and the reason if they are the server's. */
const UNCERTAIN = {
  postgres: {
    'a statement of unknown completion': { code: '40003', unavailable: 'conflict' },
    'a lost connection behind a pooler': { code: '08006', unavailable: 'connection' },
    'a crash of another session': { code: '57P02', unavailable: 'connection' },
    'an internal error': { code: 'XX000', unavailable: undefined },
  },
  mysql: {
    'an error in the commit': { code: '1180', unavailable: 'conflict' },
    'an interrupted statement': { code: '1317', unavailable: 'timeout' },
    'an unknown error': { code: '1105', unavailable: undefined },
  },
} as const

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`requests at the same time, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)

    const prepare = (t: TestContext) => prepareStore(t, databases)

    it('create books under ids in their order, each its own, in few batches', async (t) => {
      const { store, url, on } = await prepare(t)
      const sizes = record(t, 'book-catalogue.group-commit')
      for (const count of [1, 64, 300]) {
        sizes.length = 0
        const before = (await readRows(on, url)).length
        const created = await createMany(store, count, before)
        assertAscending(created.map(({ id }) => id))
        for (const [i, book] of created.entries())
          assert.deepEqual({ ...book }, { ...bookNumber(before + i), id: book.id })
        const rows = await readRows(on, url)
        assert.deepEqual(rows.slice(before), plain(created))
        assert.equal(total(sizes), count)
        assert.equal(sizes.length, Math.ceil(count / 128))
      }
    })

    it('are counted in the load while they wait', async (t) => {
      const { store, url } = await prepare(t)
      const [book] = await createMany(store, 1)
      assert.ok(book)
      await using session = await openSession(url)
      await lockBooks(session, book)
      const updates = [1, 2, 3].map((year) => store.update(book.id, { year }))
      // The first waits for the lock, and the others for the first.
      await until('two wait', () => store.load().requests_waiting === 2)
      await session.run('COMMIT')
      await Promise.all(updates)
      assert.equal(store.load().requests_waiting, 0)
    })

    it('find each its book, or none, in few batches, and one book for several', async (t) => {
      const { store } = await prepare(t)
      const created = await createMany(store, 50)
      const sizes = record(t, 'book-catalogue.batched-reads')
      const [first, second] = created
      assert.ok(first && second)
      const missing = [first.id + 1000, Number.MAX_SAFE_INTEGER]
      const ids = [...created.map(({ id }) => id), ...missing, first.id, second.id, first.id]
      const found = await Promise.all(ids.toReversed().map((id) => store.find(id)))
      assert.deepEqual(
        found.toReversed().map((book) => book && { ...book }),
        [...plain(created), undefined, undefined, { ...first }, { ...second }, { ...first }],
      )
      assert.deepEqual(sizes, [ids.length])
    })

    it('update and delete each its book, if it is there and as expected', async (t) => {
      const { store, url, on } = await prepare(t)
      const created = plain(await createMany(store, 60))
      const sizes = record(t, 'book-catalogue.group-commit')
      const missing = Array.from({ length: 10 }, (_, i) => ({ ...bookNumber(i), id: 1_000_000 + i }))
      const books = created.flatMap((book, i) => (i % 6 === 0 ? [book, missing[i / 6] as Book] : [book]))
      const isWrong = (i: number) => i % 10 === 3
      /** What is expected of every second book; of some it is wrong. */
      const expectedOf = (book: Book, i: number) => {
        if (i % 2 === 0) return undefined
        return isWrong(i) ? { ...book, author: 'other' } : book
      }
      const isDone = books.map((book, i) => created.includes(book) && !isWrong(i))
      const changes: readonly BookChanges[] = [
        { title: 'new' },
        { author: 'new', year: -1 },
        {},
        { title: '', author: '', year: 0 },
      ]

      const updated = books.map((book, i) => ({ ...book, ...(isDone[i] ? changes[i % 4] : {}) }))
      const responses = await Promise.all(
        books.map((book, i) => store.update(book.id, changes[i % 4] ?? {}, expectedOf(book, i))),
      )
      assert.deepEqual(
        responses.map((book) => book && { ...book }),
        updated.map((book, i) => (isDone[i] ? book : undefined)),
      )
      assert.deepEqual(
        await readRows(on, url),
        updated.filter(({ id }) => id < 1_000_000),
      )

      assert.deepEqual(
        await Promise.all(updated.map((book, i) => store.delete(book.id, expectedOf(book, i)))),
        isDone,
      )
      assert.deepEqual(
        await readRows(on, url),
        updated.filter(({ id }, i) => id < 1_000_000 && !isDone[i]),
      )
      assert.equal(total(sizes), 2 * books.length)
      // One for each set of fields, with what is expected and without, and two of deletions.
      assert.ok(sizes.length <= 2 * changes.length + 2, `${sizes}`)
    })

    it('change each the fields that it names, and each with its own expectation', async (t) => {
      const { store, url, on } = await prepare(t)
      const [first, second, third, fourth] = plain(await createMany(store, 4)) as [Book, Book, Book, Book]
      const wrong = { ...third, author: 'other' }
      const responses = await Promise.all([
        store.update(first.id, { title: 'new' }),
        store.update(second.id, { title: 'new', year: -1 }),
        store.update(third.id, { title: 'new' }, wrong),
      ])
      assert.deepEqual(plain(responses.slice(0, 2)), [
        { ...first, title: 'new' },
        { ...second, title: 'new', year: -1 },
      ])
      assert.equal(responses[2], undefined)
      const deletions = [store.delete(first.id), store.delete(second.id), store.delete(third.id, wrong)]
      assert.deepEqual(await Promise.all(deletions), [true, true, false])
      assert.deepEqual(await readRows(on, url), [third, fourth])
    })

    it('change no other book, whatever else the changes say', async (t) => {
      const { store, url, on } = await prepare(t)
      const created = plain(await createMany(store, 20))
      const [other, ...books] = created
      assert.ok(other)
      const changes = { id: other.id, isbn: 'x', title: 'new' }
      const updated = books.map((book) => ({ ...book, title: 'new' }))
      assert.deepEqual(
        plain(await Promise.all(books.map(({ id }) => store.update(id, { ...changes })))),
        updated,
      )
      assert.deepEqual(await readRows(on, url), [other, ...updated])
    })

    it('change each book in their order, one after another', async (t) => {
      const { store, url, on } = await prepare(t)
      const created = plain(await createMany(store, 10))
      const steps: readonly BookChanges[] = [{ title: 'a' }, { year: 1 }, { title: 'b' }, { author: 'c' }]
      const updates = steps.map((changes) => created.map(({ id }) => store.update(id, changes)))
      const deletions = created.slice(5).flatMap(({ id }) => [store.delete(id), store.delete(id)])
      let books = created
      for (const [i, changes] of steps.entries()) {
        const responses = await Promise.all(updates[i]?.slice(0, 5) ?? [])
        books = books.map((book) => ({ ...book, ...changes }))
        assert.deepEqual(plain(responses), books.slice(0, 5))
      }
      assert.deepEqual(await Promise.all(deletions), Array(5).fill([true, false]).flat())
      await Promise.all(updates.flat())
      assert.deepEqual(await readRows(on, url), books.slice(0, 5))
    })

    it('answer with what a trigger makes of each book', async (t) => {
      const { store, run, url, on } = await prepare(t)
      const created = await createMany(store, 20)
      await run(...setAuthor[engine])
      const updated = plain(await Promise.all(created.map(({ id }) => store.update(id, { title: 'new' }))))
      assert.deepEqual(await readRows(on, url), updated)
      for (const [i, { author }] of updated.entries())
        assert.equal(author, i === REFUSED ? 'trigger' : `author ${i}`)
    })

    it('keep texts as they are, and compare them exactly', async (t) => {
      const { store, url, on } = await prepare(t)
      const books = TEXTS.map((title, i) => ({ title, author: TEXTS.at(-i) ?? '', year: i }))
      const created = plain(await Promise.all(books.map((book) => store.create(book))))
      assert.deepEqual(await readRows(on, url), created)
      assert.deepEqual(
        created.map(({ title, author, year }) => ({ title, author, year })),
        books,
      )
      const swapped = created.map(({ id, title, author, year }) => ({
        id,
        title: author,
        author: title,
        year,
      }))
      for (const field of ['title', 'author'] as const) {
        for (const end of [' ', '\\', "'", '\u200b']) {
          const wrong = created.map((book) => ({ ...book, [field]: `${book[field]}${end}` }))
          const updates = wrong.map((book) => store.update(book.id, { year: 0 }, book))
          assert.deepEqual(
            await Promise.all(updates),
            wrong.map(() => undefined),
          )
          const deletions = wrong.map((book) => store.delete(book.id, book))
          assert.deepEqual(
            await Promise.all(deletions),
            wrong.map(() => false),
          )
        }
      }
      const updates = created.map((book, i) => {
        const { title, author } = swapped[i] as Book
        return store.update(book.id, { title, author }, book)
      })
      assert.deepEqual(plain(await Promise.all(updates)), swapped)
      assert.deepEqual(await readRows(on, url), swapped)
      assert.deepEqual(plain(await Promise.all(swapped.map(({ id }) => store.find(id)))), swapped)
      const deletions = swapped.map((book) => store.delete(book.id, book))
      assert.deepEqual(
        await Promise.all(deletions),
        swapped.map(() => true),
      )
    })

    it('keep years up to ±(2^53−1), and compare them exactly', async (t) => {
      const { store, url, on } = await prepare(t)
      const largest = Number.MAX_SAFE_INTEGER
      const years = [largest, -largest, largest - 1, 1 - largest, 0, 2 ** 31, -(2 ** 31) - 1, 2 ** 24 + 1]
      const created = plain(await Promise.all(years.map((year) => store.create({ ...BOOK, year }))))
      assert.deepEqual(await readRows(on, url), created)
      assert.deepEqual(
        created.map(({ year }) => year),
        years,
      )
      const towardsZero = (year: number) => year - Math.sign(year)
      const wrong = created.map((book) => ({ ...book, year: towardsZero(book.year) || 1 }))
      const refused = wrong.map((book) => store.update(book.id, { title: 'U' }, book))
      assert.deepEqual(
        await Promise.all(refused),
        wrong.map(() => undefined),
      )
      const updates = created.map((book) =>
        store.update(book.id, { year: -towardsZero(book.year) || 0 }, book),
      )
      const changed = created.map((book) => ({ ...book, year: -towardsZero(book.year) || 0 }))
      assert.deepEqual(plain(await Promise.all(updates)), changed)
      assert.deepEqual(await readRows(on, url), changed)
      assert.deepEqual(
        await Promise.all(changed.map((book) => store.delete(book.id, book))),
        changed.map(() => true),
      )
    })

    it('work for an account that may only read and write rows', async (t) => {
      const { open, url } = await prepareDatabase(t, databases, (name) => [
        TABLES[engine].suiting['as GORM makes it'] ?? '',
        ...restrict(engine, name),
      ])
      const store = await open()
      const created = plain(await createMany(store, 20))
      const updated = created.map((book) => ({ ...book, title: 'new' }))
      assert.deepEqual(
        plain(await Promise.all(created.map((book) => store.update(book.id, { title: 'new' }, book)))),
        updated,
      )
      assert.deepEqual(plain(await Promise.all(created.map(({ id }) => store.find(id)))), updated)
      const [kept, ...others] = updated
      assert.deepEqual(
        await Promise.all(others.map((book) => store.delete(book.id, book))),
        others.map(() => true),
      )
      assert.deepEqual(await readRows(await databases(), url), [kept])
    })

    it('read, change and delete long books beside short ones', async (t) => {
      const { store, url, on } = await prepare(t)
      const sizesInBytes = [1, SHORT_SIZE - 1, SHORT_SIZE, SHORT_SIZE + 1, 5, 2 ** 20, 7, 100_000, 2]
      const texts = sizesInBytes.flatMap((size) => ['x'.repeat(size), `${'é'.repeat(size / 2)}`])
      // Several batches go on at the same time, so the ids are not in the order of the calls.
      const byId = (a: Book, b: Book) => a.id - b.id
      const created = plain(
        await Promise.all(
          texts.map((text, i) =>
            store.create(i % 3 === 0 ? { ...BOOK, author: text } : { ...BOOK, title: text }),
          ),
        ),
      ).toSorted(byId)
      assertSameBooks(await readRows(on, url), created)
      assertSameBooks(await Promise.all(created.map(({ id }) => store.find(id))), created)
      const wrong = created.map((book) => ({ ...book, title: `${book.title}x` }))
      for (const book of await Promise.all(wrong.map((book) => store.update(book.id, { year: 0 }, book))))
        assert.equal(book, undefined)
      // Short ones become long, and long ones short.
      const changed = created.map((book, i) => ({ ...book, title: texts.at(-1 - i) ?? '', year: i }))
      const updates = created.map((book, i) => {
        const { title, year } = changed[i] as Book
        return store.update(book.id, { title, year }, i % 2 === 0 ? book : undefined)
      })
      assertSameBooks(await Promise.all(updates), changed)
      assertSameBooks(await readRows(on, url), changed)
      const deletions = changed.map((book, i) => store.delete(book.id, i % 2 === 0 ? book : undefined))
      assert.deepEqual(
        await Promise.all(deletions),
        changed.map(() => true),
      )
      assert.deepEqual(await listAll(store), [])
    })

    it('keep no long books in memory together', async (t) => {
      const { store, url } = await prepare(t)
      const short = await store.create({ ...BOOK, title: 'x'.repeat(SHORT_SIZE - 3), author: 'é ' })
      const long = await store.create({ ...BOOK, title: 'x'.repeat(SHORT_SIZE - 3), author: 'é  ' })
      const ids = [short.id, long.id]
      await using statements = await openStatements[engine](url)
      assertSameBooks(await statements.update(ids, { year: 1 }), [short])
      const found = await statements.find(ids)
      assert.deepEqual(
        found.map(({ id, title, author, year }) => [id, title?.length, author, year]),
        [
          [short.id, SHORT_SIZE - 3, 'é ', 1],
          [long.id, undefined, null, null],
        ],
      )
    })

    it('do not wait for a book that others have locked, unless they write it', async (t) => {
      const { store, url, on } = await prepare(t)
      // Few, so that a server might rather read the whole table than single books.
      const created = plain(await createMany(store, 40))
      const [locked, beside, ...others] = created
      assert.ok(locked && beside)
      await using session = await openSession(url)
      await lockBooks(session, locked, beside)
      const updating = store.update(locked.id, { title: 'waited' }, locked)
      const deleting = store.delete(beside.id)
      // If others wait for the lock, they do so for longer than these two, which then fail.
      for (let round = 0; round < 5; round++) {
        const last = others.splice(-3)
        const updates = others.map(({ id }) => store.update(id, { year: round }))
        const deletions = last.map(({ id }) => store.delete(id))
        const creation = store.create({ ...BOOK, year: REFUSED })
        const reads: Promise<(Book | undefined)[]> = Promise.all([
          store.find(locked.id),
          store.find(beside.id),
        ])
        for (const book of await Promise.all(updates)) assert.equal(book?.year, round)
        assert.deepEqual(await Promise.all(deletions), [true, true, true])
        assert.equal((await creation).year, REFUSED)
        assert.deepEqual(plain(await reads), [locked, beside])
      }
      await session.run('COMMIT')
      assert.deepEqual({ ...(await updating) }, { ...locked, title: 'waited' })
      assert.equal(await deleting, true)
      const rows = await readRows(on, url)
      assert.deepEqual(rows[0], { ...locked, title: 'waited' })
      assert.ok(!rows.some(({ id }) => id === beside.id))
    })

    it('do not wait for single ones that wait for locks, however many', async (t) => {
      const { store, url, query } = await prepare(t)
      const [first, second, third, ...others] = await createMany(store, 8)
      // The index would wait for the locks, too.
      await store.count({ words: ['title'] })
      await using session = await openSession(url)
      assert.ok(first && second && third)
      await lockBooks(session, first, second, third)
      const waiting: Promise<unknown>[] = []
      for (const book of [first, second, third]) {
        waiting.push(store.update(book.id, { year: 0 }))
        await until('it waits for the lock', async () => {
          return (await query(WAITING[engine])).length === waiting.length
        })
      }
      for (const book of await Promise.all(others.map(({ id }) => store.update(id, { year: -1 }))))
        assert.equal(book?.year, -1)
      assert.deepEqual(
        await Promise.all(others.map(({ id }) => store.delete(id))),
        others.map(() => true),
      )
      await session.run('COMMIT')
      await Promise.all(waiting)
    })

    it('fail alone where a table refuses one of them, and the others are done once', async (t) => {
      const { store, run, url, on } = await prepare(t)
      await run(`ALTER TABLE books ADD CONSTRAINT lucky CHECK (year <> ${REFUSED})`)
      const created = await Promise.allSettled(
        Array.from({ length: 40 }, (_, year) => store.create({ ...BOOK, title: `${year}`, year })),
      )
      assertOnlyRefused(created, (year) => year === REFUSED)
      const books = created.flatMap((result) => (result.status === 'fulfilled' ? [{ ...result.value }] : []))
      assert.deepEqual(
        await readRows(on, url),
        books.toSorted((a, b) => a.id - b.id),
      )
      const updated = await Promise.allSettled(
        books.map(({ id, year }) =>
          store.update(id, { title: `new ${year}`, year: year === 30 ? REFUSED : year }),
        ),
      )
      assertOnlyRefused(updated, (i) => books[i]?.year === 30)
      const changed = books.map((book) => (book.year === 30 ? book : { ...book, title: `new ${book.year}` }))
      assert.deepEqual(
        await readRows(on, url),
        changed.toSorted((a, b) => a.id - b.id),
      )
      await run(...refuseDeletion(engine, 30))
      const deleted = await Promise.allSettled(changed.map(({ id }) => store.delete(id)))
      assertOnlyRefused(deleted, (i) => changed[i]?.year === 30)
      assert.deepEqual(
        await readRows(on, url),
        changed.filter(({ year }) => year === 30),
      )
    })

    for (const [what, { code, unavailable }] of Object.entries(UNCERTAIN[engine])) {
      it(`fail together, and none is repeated, if it is uncertain what became of them: ${what}`, async (t) => {
        const { store, run, query } = await prepare(t)
        await run(...countAndRaise(engine, code))
        const results = await Promise.allSettled(
          Array.from({ length: 20 }, (_, i) => store.create({ ...BOOK, year: i === 19 ? REFUSED : 0 })),
        )
        for (const result of results) {
          assert.ok(result.status === 'rejected')
          const reason = result.reason instanceof StoreUnavailable ? result.reason.reason : undefined
          assert.equal(reason, unavailable, String(result.reason))
        }
        const [row] = await query(COUNTED[engine])
        assert.equal(Number(row?.n), 20)
        assert.deepEqual(await listAll(store), [])
      })
    }
  })
}

describe('books created at the same time on MySQL', { skip: serverMissing('mysql') }, () => {
  it('get ids of their own where the server leaves gaps between them', async (t) => {
    const server = await startServer('mysql', {
      settings: { 'auto-increment-increment': '3', 'auto-increment-offset': '2' },
    })
    t.after(() => server.remove())
    const url = await server.createDatabase()
    const store = await openPatiently(url)
    t.after(() => store.close())
    const created = plain(await createMany(store, 64))
    assertAscending(created.map(({ id }) => id))
    for (const { id } of created) assert.equal(id % 3, 2)
    assert.deepEqual(await readRows(server, url), created)
    assert.deepEqual(plain(await Promise.all(created.map(({ id }) => store.find(id)))), created)
  })
})

describe('a server that does not know a statement for several requests', () => {
  for (const [engine, meaningOf] of [
    ['postgres', postgres.meaningOf],
    ['mysql', mysql.meaningOf],
  ] as const) {
    const isUnknown = (error: unknown) => meaningOf(error).isUnknownSyntax === true
    describe(`on ${engine}`, { skip: engineMissing(engine) }, () => {
      const databases = useDatabases(engine)

      it('says so by an error that is no other', async (t) => {
        const { open, run } = await prepareDatabase(t, databases)
        await open()
        await assert.rejects(run('SELECT id FROM books FOR UPDATE SKIP NOTHING'), isUnknown)
        await assert.rejects(run('SELECT nothing FROM books'), (error) => !isUnknown(error))
      })
    })
  }
})

describe('requests at the same time on PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')

  it('have their own ids if a trigger leaves out one, which fails', async (t) => {
    const { open, run, url } = await prepareDatabase(t, databases)
    const store = await open()
    await run(
      `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.year = ${REFUSED} THEN RETURN NULL; END IF; RETURN NEW; END $$`,
      'CREATE TRIGGER leave_out BEFORE INSERT ON books FOR EACH ROW EXECUTE FUNCTION leave_out()',
    )
    for (const years of [Array.from({ length: 30 }, (_, year) => year), [REFUSED, REFUSED], [REFUSED]]) {
      const results = await Promise.allSettled(
        years.map((year) => store.create({ ...BOOK, title: `${year}`, year })),
      )
      assertOnlyRefused(results, (i) => years[i] === REFUSED)
      for (const [i, result] of results.entries())
        if (result.status === 'fulfilled') assert.equal(result.value.title, `${years[i]}`)
    }
    const rows = await readRows(await databases(), url)
    assert.deepEqual(
      rows.map(({ year }) => year).toSorted((a, b) => a - b),
      Array.from({ length: 30 }, (_, year) => year).filter((year) => year !== REFUSED),
    )
    for (const { title, year } of rows) assert.equal(title, `${year}`)
  })

  it('have their own responses if a trigger leaves out one from an update or a deletion', async (t) => {
    const { open, run, url } = await prepareDatabase(t, databases)
    const store = await open()
    const created = await createMany(store, 30)
    await run(
      `CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF OLD.year = ${REFUSED} THEN RETURN NULL; END IF; RETURN coalesce(NEW, OLD); END $$`,
      'CREATE TRIGGER leave_out BEFORE UPDATE OR DELETE ON books FOR EACH ROW EXECUTE FUNCTION leave_out()',
    )
    const updated = await Promise.all(created.map(({ id }) => store.update(id, { title: 'new' })))
    assert.deepEqual(
      updated.map((book) => book?.title),
      created.map(({ year }) => (year === REFUSED ? undefined : 'new')),
    )
    assert.deepEqual(
      await Promise.all(created.map(({ id }) => store.delete(id))),
      created.map(({ year }) => year !== REFUSED),
    )
    assert.deepEqual(
      await readRows(await databases(), url),
      plain(created).filter(({ year }) => year === REFUSED),
    )
  })

  it('are all stored, and changed one after another, where transactions are serializable', async (t) => {
    const { open, url } = await prepareDatabase(t, databases, (name) => [
      `ALTER DATABASE ${name} SET default_transaction_isolation = serializable`,
    ])
    const store = await open()
    const stores = [store, await open()]
    const created = (await Promise.all(stores.map((store, i) => createMany(store, 50, 50 * i)))).flat()
    assert.equal(new Set(created.map(({ id }) => id)).size, 100)
    const on = await databases()
    assert.deepEqual(
      await readRows(on, url),
      plain(created).toSorted((a, b) => a.id - b.id),
    )
    // Each raises the year by one, from 0, if nobody was faster.
    const [book] = created
    assert.ok(book)
    let { year } = book
    for (let round = 0; round < 20; round++) {
      const expected = { ...book, year }
      const results: PromiseSettledResult<Book | undefined>[] = await Promise.allSettled(
        [...stores, ...stores].map((each) => each.update(book.id, { year: expected.year + 1 }, expected)),
      )
      for (const result of results)
        if (result.status === 'rejected') assert.ok(result.reason instanceof StoreUnavailable)
      const winners = results.filter((result) => result.status === 'fulfilled' && result.value !== undefined)
      assert.ok(winners.length <= 1, `${winners.length} have won`)
      year += winners.length
      assert.equal((await store.find(book.id))?.year, year)
    }
    assert.ok(year > 0)
  })
})

/** Finds the updates that wait for the lock of a book. */
const WAITING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  // The server does not tell apart waiting for a row from reading it.
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE'`,
}

const refuseDeletion = (engine: 'postgres' | 'mysql', year: number) =>
  engine === 'postgres'
    ? [
        `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN IF OLD.year = ${year} THEN RAISE EXCEPTION 'kept'; END IF; RETURN OLD; END $$`,
        'CREATE TRIGGER keep BEFORE DELETE ON books FOR EACH ROW EXECUTE FUNCTION keep()',
      ]
    : [
        `CREATE TRIGGER keep BEFORE DELETE ON books FOR EACH ROW
          IF OLD.year = ${year} THEN SIGNAL SQLSTATE '45000'; END IF`,
      ]

/** A trigger that counts the rows of books, those rolled back too, and fails for one of them. */
const countAndRaise = (engine: 'postgres' | 'mysql', code: string) =>
  engine === 'postgres'
    ? [
        'CREATE SEQUENCE counted',
        'GRANT USAGE ON SEQUENCE counted TO PUBLIC',
        `CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM nextval('counted');
          IF NEW.year = ${REFUSED} THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END IF;
          RETURN NEW; END $$`,
        'CREATE TRIGGER raise BEFORE INSERT ON books FOR EACH ROW EXECUTE FUNCTION raise()',
      ]
    : [
        'CREATE TABLE counted (n INT) ENGINE = MyISAM',
        'INSERT INTO counted VALUES (0)',
        `CREATE TRIGGER raise BEFORE INSERT ON books FOR EACH ROW BEGIN
          UPDATE counted SET n = n + 1;
          IF NEW.year = ${REFUSED} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${code}; END IF;
        END`,
      ]

/** A trigger that sets the author of one book whenever it changes. */
const setAuthor = {
  postgres: [
    `CREATE FUNCTION set_author() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.year = ${REFUSED} THEN NEW.author = 'trigger'; END IF; RETURN NEW; END $$`,
    'CREATE TRIGGER set_author BEFORE UPDATE ON books FOR EACH ROW EXECUTE FUNCTION set_author()',
  ],
  mysql: [
    `CREATE TRIGGER set_author BEFORE UPDATE ON books FOR EACH ROW
      IF NEW.year = ${REFUSED} THEN SET NEW.author = 'trigger'; END IF`,
  ],
}

const COUNTED = { postgres: 'SELECT last_value AS n FROM counted', mysql: 'SELECT n FROM counted' }

/** The statements for batches, on a connection of their own. */
const openStatements = {
  postgres(url: string) {
    const target = parseDbUrl(url)
    assert.ok(target.engine === 'postgres')
    return openOn(new PostgresDriver(target.target), postgresBooks(SCHEMA))
  },
  mysql(url: string) {
    const target = parseDbUrl(url)
    assert.ok(target.engine === 'mysql')
    return openOn(new MysqlDriver(target.target), mysqlBooks(SCHEMA))
  },
}

async function openOn<Connection>(driver: Driver<Connection>, { find, update }: BookStatements<Connection>) {
  const connection = await driver.connect()
  return {
    find: (ids: readonly number[]) => find(connection, ids),
    update(ids: readonly number[], changes: BookChanges) {
      const updates = ids.map((id) => ({ id, changes, expected: undefined }))
      return update(connection, updates, Date.now() + 60_000, false)
    },
    [Symbol.asyncDispose]: () => driver.end(connection),
  }
}
