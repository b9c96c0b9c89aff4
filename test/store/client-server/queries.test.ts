import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { BY_ID } from '../../../src/catalogue/query.ts'
import { searchedWords } from '../../../src/catalogue/search-words.js'
import type { Store } from '../../../src/catalogue/store.ts'
import { openSession, until } from '../../faults/engine-servers.ts'
import { EARLIER_WORDS, earlierTable, indexEarlierWords } from '../earlier-schemas.ts'
import { booksOf, inGroups } from '../pages.ts'
import { assertComplete, insert, PLENTY, TITLES } from './plain-search.ts'
import { onServers, prepareDatabase, WAITING, WAITING_FOR_TABLE } from './prepared-database.ts'

const BY_TITLE = [{ name: 'title', descending: false }, ...BY_ID] as const

/** Each makes a session give up after a while. An upgrade with the limits of other statements would wait for longer. */
const PATIENCE = { postgres: "SET lock_timeout = '30s'", mysql: 'SET lock_wait_timeout = 30' }

/** What an upgrade that was killed has already added. */
const BEGUN = {
  postgres: ['ALTER TABLE books ADD COLUMN search_words_2 tsvector'],
  mysql: ['ALTER TABLE books ADD COLUMN search_words_2_of VARBINARY(32)'],
}

/** Lets nobody change a book with this title. */
const PROTECTION = {
  postgres: "ALTER TABLE books ADD CHECK (title <> 'theirs') NOT VALID",
  mysql: `CREATE TRIGGER protection BEFORE UPDATE ON books FOR EACH ROW
    IF OLD.title = 'theirs' THEN SIGNAL SQLSTATE '45000'; END IF`,
}

onServers('queries on a database that others or earlier versions wrote', (engine, databases) => {
  const prepare = (t: TestContext, statements?: (name: string) => readonly string[]) =>
    prepareDatabase(t, databases, statements)

  it('a table of the earlier version, whose upgrade was killed, is upgraded by several instances at once, which keep nobody waiting for long; then that version and other programs go on writing, and neither undoes the work of the other', async (t) => {
    const { open, reports, url, run, query } = await prepare(t, (name) => [
      ...earlierTable(engine, name, 250),
      ...EARLIER_WORDS[engine],
      insert(TITLES),
      indexEarlierWords(engine),
      ...BEGUN[engine],
    ])
    await using reader = await openSession(url)
    await reader.run('BEGIN')
    const read = 'SELECT id FROM books LIMIT 1'
    await reader.run(read)
    const opened = Promise.all([open(), open(), open()])
    await until('the upgrade waits', async () => (await query(WAITING_FOR_TABLE[engine])).length > 0)
    await using next = await openSession(url)
    await next.run(PATIENCE[engine])
    await next.run(read)
    await reader.run('COMMIT')
    const stores = await opened
    for (const store of stores) await assertComplete(store)
    assert.deepEqual(reports, [])
    const rows = await query(
      engine === 'postgres'
        ? "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'books'"
        : "SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'books'",
    )
    const names = rows.map(({ name }) => String(name))
    for (const name of ['books_by_author_key_3', 'books_by_title_key_3'])
      assert.ok(names.includes(name), name)
    // On MySQL the index of years has another name if they may not be NULL.
    assert.ok(names.some((name) => /^books_by_(plain_)?year$/.test(name)))

    const [store] = stores
    /** How many books each version has still to index. */
    const due = async () => {
      const isDue = (words: string) =>
        engine === 'postgres' ? `count(*) FILTER (WHERE ${words} IS NULL)` : `SUM(${words} IS NULL)`
      const [row] = await query(
        `SELECT ${isDue('search_words_of')} AS earlier, ${isDue('search_words_2_of')} AS own FROM books`,
      )
      return [Number(row?.earlier), Number(row?.own)]
    }
    await run(insert(['Les bons', 'À others', 'bon others']))
    const { id } = await store.create({ title: 'The others', author: 'Zola', year: 1 })
    await assertComplete(store)
    assert.deepEqual(await due(), [4, 0])
    await run(indexEarlierWords(engine))
    assert.deepEqual(await due(), [0, 0])
    await run(
      "UPDATE books SET title = 'Ein others' WHERE title = 'ete'",
      "UPDATE books SET author = 'ÉLUARD' WHERE title = 'zèbre'",
      "DELETE FROM books WHERE title = 'Die'",
      `UPDATE books SET title = 'x' WHERE id = ${id}`,
    )
    await assertComplete(store)
    // Back to a text that it had before, of which it still has a key or not.
    await store.update(id, { title: 'A first' })
    await run(`UPDATE books SET title = 'The others' WHERE id = ${id}`)
    await assertComplete(store)
  })

  it('a book that the database protects from changes keeps no other from being found', async (t) => {
    const { open, run } = await prepare(t, (name) => earlierTable(engine, name, 3))
    await run("UPDATE books SET title = 'theirs' WHERE id = 2", PROTECTION[engine])
    const store = await open()
    let incomplete = 0
    const options = { onIncomplete: () => incomplete++ }
    assert.equal(await store.count({ words: ['old'] }, options), 2)
    assert.equal((await store.page({ filter: {}, order: BY_TITLE }, undefined, PLENTY, options)).count, 3)
    assert.equal(incomplete, 2)
    assert.equal(await store.count({ title: 'theirs' }), 1)
    const [theirs] = booksOf(
      await store.page({ filter: { title: 'theirs' }, order: BY_ID }, undefined, PLENTY),
    )
    assert.ok(theirs)
    const groups = inGroups([theirs, { ...theirs, title: 'new' }])
    assert.deepEqual(await store.import(groups, { skipExisting: true }), { added: 1, skipped: 1 })
  })

  it('a book that changes while it is indexed is indexed again, and so are those behind it', async (t) => {
    const { open, url, run } = await prepare(t)
    await (await open()).close()
    // So many words that the books are indexed in several steps.
    const title = Array.from({ length: 4000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
    const others = [2, 3, 4, 5, 6].map((year) => `('${title}', 'A', ${year})`)
    await run(`INSERT INTO books (title, author, year) VALUES ('First', 'A', 1), ${others}, ('Dune', 'A', 7)`)
    const on = await databases()
    await using session = await openSession(url)
    await session.run('BEGIN')
    await session.run("UPDATE books SET title = 'Changed' WHERE id = 1")
    const store = await open()
    const sorted = store.page({ filter: {}, order: BY_TITLE }, undefined, PLENTY)
    const found = titles(store, 'changed')
    await until('the words and the sort keys wait for the lock', async () => {
      return (await on.query(WAITING[engine], url)).length === 2
    })
    await session.run('COMMIT')
    assert.deepEqual(await found, ['Changed'])
    assert.deepEqual(await titles(store, 'first'), [])
    assert.equal(await store.count({ words: ['a'] }), 7)
    const [first, second] = booksOf(await sorted)
    assert.deepEqual([first?.title, second?.title], ['Changed', 'Dune'])
  })

  it('what is imported is indexed although nobody writes or searches', async (t) => {
    const { open, query } = await prepare(t)
    const store = await open()
    // So long that its words are not stored with it.
    const book = { title: 'Dune '.repeat(200), author: 'A', year: 1 }
    const untilIndexed = () =>
      until('all words are stored', async () => {
        return (await query('SELECT 1 FROM books WHERE search_words_2_of IS NULL')).length === 0
      })
    // After this, the index has no pass of the start before it.
    await store.create(book)
    await untilIndexed()
    await store.import(inGroups([book]))
    await untilIndexed()
  })

  it('texts with as many and as long words as there may be are indexed', async (t) => {
    const { open, run } = await prepare(t)
    const store = await open()
    const han = (first: number, length: number) =>
      Array.from({ length }, (_, i) => String.fromCodePoint(first + i)).join('')
    const [common, rare] = [han(0x4e00, 4000), han(0x20000, 2000)]
    const { id } = await store.create({ title: common, author: han(0x6000, 4000), year: 1 })
    await store.create({ title: rare, author: `${'𝒳'.repeat(40)} ${han(0x21000, 1950)}`, year: 2 })
    const found = (text: string) => store.count({ words: searchedWords(text) })
    assert.equal(await found(common.slice(2000, 2010)), 1)
    assert.equal(await found(rare.slice(2000, 2010)), 1)
    await store.update(id, { title: rare })
    await run(`UPDATE books SET author = '${common}' WHERE id <> ${id}`)
    assert.equal(await found(common.slice(3960, 3970)), 1)
    assert.equal(await found(rare.slice(2000, 2010)), 2)
  })
})

async function titles(store: Store, searched: string): Promise<string[]> {
  const filter = { words: searchedWords(searched) }
  const page = await store.page({ filter, order: 'relevance' }, undefined, PLENTY)
  return booksOf(page).map(({ title }) => title)
}
