import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type BookFilter, BY_ID } from '../../../src/catalogue/query.ts'
import { searchedWords } from '../../../src/catalogue/search-words.js'
import type { Store } from '../../../src/catalogue/store.ts'
import {
  asAdministrator,
  connections,
  killConnection,
  openSession,
  until,
} from '../../faults/engine-servers.ts'
import type { ServerEngine } from '../../support/database-server.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { DROP_EARLIER_WORDS, EARLIER_WORDS, earlierTable, indexEarlierWords } from '../earlier-schemas.ts'
import { booksOf } from '../pages.ts'
import { prepareDatabase } from './prepared-database.ts'
import { GORM, give } from './tables-of-others.ts'

const BY_TITLE = [{ name: 'title', descending: false }, ...BY_ID] as const

const PLENTY = { books: 1000, text: 1024 * 1024 }

/** What an upgrade that was killed has already added. */
const BEGUN = {
  postgres: ['ALTER TABLE books ADD COLUMN search_words_2 tsvector'],
  mysql: ['ALTER TABLE books ADD COLUMN search_words_2_of VARBINARY(32)'],
}

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`queries on a database that others or earlier versions wrote, on ${engine}`, {
    skip: engineMissing(engine),
  }, () => {
    const databases = useDatabases(engine)

    const prepare = (t: TestContext, statements?: (name: string) => readonly string[]) =>
      prepareDatabase(t, databases, statements)

    /** Books that the earlier version has indexed, and that are found by its rules or by those of this one only. */
    const earlier = (name: string) => [
      ...earlierTable(engine, name, 250),
      ...EARLIER_WORDS[engine],
      "INSERT INTO books (title, author, year) VALUES ('백년의 고독', 'A', 1), ('Cien años de soledad', 'A', 1)",
      indexEarlierWords(engine),
    ]

    for (const begun of [[], BEGUN[engine]])
      it(`a table of an earlier release is upgraded by several instances at once, after so many steps: ${begun.length}`, async (t) => {
        const { open, reports, query } = await prepare(t, (name) => [...earlier(name), ...begun])
        const stores = await Promise.all(Array.from({ length: 3 }, () => open()))
        for (const store of stores) {
          assert.equal(await count(store, { words: ['earlier', 'old'] }), 250)
          assert.deepEqual(await titles(store, '고독'), ['백년의 고독'])
          assert.deepEqual(await titles(store, 'anos'), ['Cien años de soledad'])
          assert.equal(await count(store, { yearMin: 0, yearMax: 9 }), 12)
        }
        const created = await stores[0]?.create({ title: 'New', author: 'A', year: 1 })
        assert.equal(created?.id, 253)
        assert.deepEqual(await titles(stores[1] as Store, 'new'), ['New'])
        assert.deepEqual(reports, [])
        assert.deepEqual((await indexes(query, engine)).toSorted(), INDEXES)
      })

    it('books that another program writes are found by what they are then', async (t) => {
      const { open, run } = await prepare(t, (name) => [GORM[engine], ...give(engine, name)])
      const store = await open()
      assert.deepEqual(await titles(store, 'dune'), [])
      await run("INSERT INTO books (title, author) VALUES ('Dune', NULL), (NULL, 'Dune')")
      assert.deepEqual(await titles(store, 'dune'), ['Dune', ''])
      await run("UPDATE books SET title = 'Emma' WHERE id = 1")
      assert.deepEqual(await titles(store, 'dune'), [''])
      assert.deepEqual(await titles(store, 'emma'), ['Emma'])
      await run('DELETE FROM books WHERE id = 1')
      assert.deepEqual(await titles(store, 'emma'), [])
      assert.equal(await count(store, { words: ['d'] }), 1)
    })

    it('a book that changes while it is indexed is indexed again, and so are those behind it', async (t) => {
      const { open, url, run } = await prepare(t)
      await (await open()).close()
      // So many words that the books are indexed in several steps.
      const title = Array.from({ length: 4000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
      const others = [2, 3, 4, 5, 6].map((year) => `('${title}', 'A', ${year})`)
      await run(
        `INSERT INTO books (title, author, year) VALUES ('First', 'A', 1), ${others}, ('Dune', 'A', 7)`,
      )
      const on = await databases()
      await using session = await openSession(url)
      await session.run('BEGIN')
      await session.run("UPDATE books SET title = 'Changed' WHERE id = 1")
      const store = await open()
      const sorted = store.page({ filter: {}, order: BY_TITLE }, undefined, PLENTY)
      const found = titles(store, 'changed')
      await until('the words and the sort keys wait for the lock', async () => {
        return (await on.query(STORING_ENTRIES[engine], url)).length === 2
      })
      await session.run('COMMIT')
      assert.deepEqual(await found, ['Changed'])
      assert.deepEqual(await titles(store, 'first'), [])
      assert.equal(await count(store, { words: ['a'] }), 7)
      const [first, second] = booksOf(await sorted)
      assert.deepEqual([first?.title, second?.title], ['Changed', 'Dune'])
    })

    it('texts with as many and as long words as there may be are indexed', async (t) => {
      const { open, run } = await prepare(t)
      const store = await open()
      const han = (first: number, length: number) =>
        Array.from({ length }, (_, i) => String.fromCodePoint(first + i)).join('')
      const [common, rare] = [han(0x4e00, 4000), han(0x20000, 2000)]
      const { id } = await store.create({ title: common, author: han(0x6000, 4000), year: 1 })
      await store.create({ title: rare, author: `${'𝒳'.repeat(40)} ${han(0x21000, 1950)}`, year: 2 })
      const found = async (text: string) => count(store, { words: searchedWords(text) })
      assert.equal(await found(common.slice(2000, 2010)), 1)
      assert.equal(await found(rare.slice(2000, 2010)), 1)
      await store.update(id, { title: rare })
      await run(`UPDATE books SET author = '${common}' WHERE id <> ${id}`)
      assert.equal(await found(common.slice(3960, 3970)), 1)
      assert.equal(await found(rare.slice(2000, 2010)), 2)
    })

    it('a connection that is lost while indexes are added: the start goes on when it can', async (t) => {
      const { open, reports, url } = await prepare(t, (name) => [GORM[engine], ...give(engine, name)])
      const on = await databases()
      await using session = await openSession(asAdministrator(on, url))
      await session.run(engine === 'postgres' ? 'BEGIN; LOCK TABLE books' : 'LOCK TABLES books WRITE')
      const opening = open()
      await until('it waits for the lock', async () => {
        const [row] = await on.query(WAITING[engine], url)
        return row !== undefined
      })
      for (const id of await connections(on, url)) await killConnection(on, id)
      await until('it says that it waits', () => reports.length > 0)
      await session.run(engine === 'postgres' ? 'COMMIT' : 'UNLOCK TABLES')
      assert.deepEqual(await titles(await opening, 'dune'), [])
      assert.match(reports.join('\n'), /^waiting up to 30 seconds for [^\n]*$/)
    })

    it('instances of both versions write, and neither undoes the work of the other', async (t) => {
      const { open, run, query } = await prepare(t, earlier)
      const store = await open()
      assert.equal((await titles(store, 'old')).length, 250)
      /** Which books each version has still to index. */
      const due = async () => {
        const [row] = await query(
          engine === 'postgres'
            ? `SELECT count(*) FILTER (WHERE search_words_of IS NULL) AS earlier,
                 count(*) FILTER (WHERE search_words_2_of IS NULL) AS own FROM books`
            : `SELECT SUM(search_words_of IS NULL) AS earlier, SUM(search_words_2_of IS NULL) AS own FROM books`,
        )
        return [Number(row?.earlier), Number(row?.own)]
      }
      await run("INSERT INTO books (title, author, year) VALUES ('서울', 'Earlier instance', 1)")
      await store.create({ title: '부산', author: 'A', year: 1 })
      assert.deepEqual(await titles(store, '울'), ['서울'])
      assert.deepEqual(await titles(store, '산'), ['부산'])
      assert.deepEqual(await due(), [2, 0])
      await run(indexEarlierWords(engine))
      assert.deepEqual(await due(), [0, 0])
      await run("UPDATE books SET title = '대구' WHERE title = '서울'")
      assert.deepEqual([await titles(store, '울'), await titles(store, '구')], [[], ['대구']])
      await run("DELETE FROM books WHERE title = '대구'")
      assert.deepEqual(await titles(store, '구'), [])
      await run(...DROP_EARLIER_WORDS[engine])
      const { id } = await store.create({ title: '제주', author: 'A', year: 1 })
      await store.update(id, { year: 2 })
      assert.deepEqual(await titles(store, '주'), ['제주'])
      assert.deepEqual(await titles(await open(), '주'), ['제주'])
    })

    it('a book that others lock before it is indexed: searches answer without waiting for it', async (t) => {
      const { open, query, url } = await prepare(t)
      // Searches wait for half of this time.
      const store = await open(4, 10_000)
      await store.create({ title: 'Dune', author: 'A', year: 1 })
      await using session = await openSession(url)
      // The first pass of the index may come between the change and the lock.
      await until('a changed book is locked', async () => {
        await session.run('ROLLBACK')
        await session.run("UPDATE books SET search_words_2_of = 'x' WHERE id = 1")
        await session.run('BEGIN')
        await session.run('SELECT id FROM books WHERE id = 1 FOR UPDATE')
        const [row] = await query('SELECT search_words_2_of AS fingerprint FROM books WHERE id = 1')
        return String(row?.fingerprint) === 'x'
      })
      let incomplete = 0
      await store.count({ words: ['dune'] }, { onIncomplete: () => incomplete++ })
      assert.equal(incomplete, 1)
      await session.run('ROLLBACK')
    })
  })
}

/** Finds statements that wait for a lock of a table. */
const WAITING = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE state LIKE 'Waiting for table%' AND db = DATABASE()`,
}

/** Finds the statements that wait for a lock of a book to store its words or its sort keys. */
const STORING_ENTRIES = {
  postgres: WAITING.postgres,
  // The server does not tell apart waiting for a row from reading it.
  mysql: `SELECT 1 FROM information_schema.processlist
    WHERE info LIKE '%ORDER BY id FOR UPDATE' AND db = DATABASE()`,
}

const INDEXES = ['books_by_author_key_3', 'books_by_title_key_3', 'books_by_year']

/** Those that both servers have. */
async function indexes(query: (sql: string) => Promise<Record<string, unknown>[]>, engine: ServerEngine) {
  const rows = await query(
    engine === 'postgres'
      ? "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'books'"
      : "SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'books'",
  )
  // On MySQL the index of years has another name if they may not be NULL.
  return rows.map(({ name }) => String(name).replace('plain_', '')).filter((name) => INDEXES.includes(name))
}

async function titles(store: Store, searched: string): Promise<string[]> {
  const filter = { words: searchedWords(searched) }
  const page = await store.page({ filter, order: 'relevance' }, undefined, PLENTY)
  return booksOf(page).map(({ title }) => title)
}

const count = (store: Store, filter: BookFilter) => store.count(filter)
