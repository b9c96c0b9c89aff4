import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { NewBook } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import { asAdministrator, openSession, until } from '../../faults/engine-servers.ts'
import { booksContract } from '../contract.ts'
import { queryContract } from '../contract-query.ts'
import { EARLIER_WORDS, earlierTable } from '../earlier-schemas.ts'
import { openNewDatabase } from '../new-database.ts'
import { inGroups, listAll } from '../pages.ts'
import { assertComplete, assertExact, by, insert, ORDERS, PLENTY, TITLES, walk } from './plain-search.ts'
import { onServers, prepareDatabase } from './prepared-database.ts'
import { GORM, restrict } from './tables-of-others.ts'

/** Finds the statement that waits until it can create an index while others write. */
const WAITING = `
  SELECT 1 FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX CONCURRENTLY%'`

/** So many books that writes would wait for an index. */
const LARGE = 10_001

const untilAllHaveKeys = (store: Store) =>
  until('all have keys', async () => (await walk(store, by('title'), 1000)).incomplete === 0)

onServers('the sort keys of a database', (engine, databases) => {
  const earlier = (t: TestContext, books: number) =>
    prepareDatabase(t, databases, (name) => [...earlierTable(engine, name, books), insert(TITLES)])

  if (engine === 'postgres')
    it('of a large table get their indexes while others write, also after an interruption', async (t) => {
      const { url, open, run, query } = await earlier(t, LARGE)
      await untilAllHaveKeys(await open())
      await run('DROP INDEX books_by_author_key_3')
      await using session = await openSession(asAdministrator(await databases(), url))
      await session.run(`BEGIN; ${insert(['by an open transaction'])}`)
      const opening = open()
      await until('it waits for the transaction', async () => (await query(WAITING)).length > 0)
      await run(insert(['meanwhile']))
      assert.equal((await query(WAITING)).length, 1)
      await session.run('COMMIT')
      await untilAllHaveKeys(await opening)
      await run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'books_by_title_key_3'::regclass")
      await untilAllHaveKeys(await open())
      const indexes = await query(
        "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid::regclass::text LIKE 'books_by_%_key_3'",
      )
      assert.deepEqual(indexes, [{ valid: true }, { valid: true }])
    })
  else
    it('are added to a large table without rewriting it, and what earlier versions need stays', async (t) => {
      const { open, query } = await prepareDatabase(t, databases, (name) => [
        ...earlierTable(engine, name, LARGE),
        ...EARLIER_WORDS[engine],
      ])
      const table = () =>
        query(
          `SELECT table_id FROM information_schema.innodb_sys_tables WHERE name = CONCAT(DATABASE(), '/books')`,
        )
      const before = await table()
      await untilAllHaveKeys(await open())
      assert.deepEqual(await table(), before)
      const indexes = await query(
        `SELECT index_name AS name FROM information_schema.statistics
           WHERE table_schema = DATABASE() AND index_name LIKE '%due' AND seq_in_index = 1 ORDER BY 1`,
      )
      assert.deepEqual(
        indexes.map(({ name }) => name),
        ['books_by_search_words_2_due', 'books_by_sort_keys_3_due', 'books_words_due'],
      )
    })

  if (engine === 'mysql')
    it('are added also where a statement may not take as long as it waits for the lock of the table', async (t) => {
      const { url, open, query, reports } = await prepareDatabase(t, databases, (name) => [
        ...earlierTable(engine, name, 3),
        `GRANT USAGE ON *.* TO '${name}'@'%' WITH MAX_STATEMENT_TIME 0.9`,
      ])
      await using session = await openSession(asAdministrator(await databases(), url))
      await session.run('BEGIN')
      await session.run('SELECT id FROM books')
      let isOpen = false
      const opening = open().finally(() => {
        isOpen = true
      })
      const waiting = `SELECT 1 FROM information_schema.processlist
        WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock' AND time_ms > 900`
      await until('it waits for longer', async () => isOpen || (await query(waiting)).length > 0)
      await session.run('COMMIT')
      await opening
      assert.deepEqual(reports, [])
    })

  it('are written with every book: alone, together, long, updated and imported', async (t) => {
    const { open, query } = await prepareDatabase(t, databases)
    const store = await open()
    const book = (title: string): NewBook => ({ title, author: 'Éa', year: 1 })
    const { id } = await store.create(book('The one'))
    await store.create(book(`The ${'x'.repeat(50_000)}`))
    const many = await Promise.all(Array.from({ length: 20 }, (_, i) => store.create(book(`The ${i}`))))
    await store.update(id, { title: 'Le un' })
    await store.update(id, { author: 'Le' }, { ...book('Le un'), id })
    await Promise.all(
      many.map((each, i) => store.update(each.id, i % 2 === 0 ? { title: `Un ${i}` } : { year: 2 })),
    )
    await store.import(inGroups([book('The imported'), book(`A ${'y'.repeat(3000)}`)]))
    const due =
      engine === 'postgres'
        ? `SELECT id FROM books WHERE split_part(title_key_3, E'\\x01', 2) <> left(title, 250)
               OR split_part(author_key_3, E'\\x01', 2) <> author`
        : 'SELECT id FROM books WHERE sort_keys_3_due = 1'
    assert.deepEqual(await query(due), [])
    await assertComplete(store)
  })

  it('that are missing for long: lists say so and have all books, filters and counts are exact', async (t) => {
    const { open, url, query } = await earlier(t, 20)
    await (await open()).page(by('title'), undefined, PLENTY)
    await using session = await openSession(url)
    await session.run("UPDATE books SET title = 'Été' WHERE title = 'zèbre'")
    await session.run('BEGIN')
    const store = await open()
    await until('a changed book is locked before its key is made', async () => {
      await session.run('ROLLBACK')
      await session.run("UPDATE books SET title = CONCAT(title, '!'), author = 'theirs' WHERE id = 1")
      await session.run('BEGIN')
      await session.run('SELECT id FROM books WHERE id = 1 FOR UPDATE')
      const [row] = await query('SELECT title, title_key_3 AS title_key FROM books WHERE id = 1')
      return !String(row?.title_key).endsWith(`\u0001${row?.title}`)
    })
    const all = await listAll(store)
    await until('it is noticed', async () => (await walk(store, by('title'))).incomplete > 0)
    for (const order of ORDERS) {
      const { books, incomplete } = await walk(store, order)
      assert.ok(incomplete > 0)
      assert.deepEqual(
        books.toSorted((a, b) => a.id - b.id),
        all,
      )
    }
    await assertExact(store, all)
    await session.run('ROLLBACK')
    await until('its key is made', async () => (await walk(store, by('title'))).incomplete === 0)
    await assertComplete(store)
  })

  describe('for which an account may not make columns', () => {
    const prepare = async () =>
      openNewDatabase(await databases(), (name) => [GORM[engine], ...restrict(engine, name)])
    booksContract(prepare)
    queryContract(prepare, { isIndexed: false })
  })
})
