import assert from 'node:assert/strict'
import { it } from 'node:test'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { nameIn } from '../../support/database-url.ts'
import { inGroups, listAll, plain } from '../pages.ts'
import { assertComplete, bookOf, insert, TITLES } from './plain-search.ts'
import { onServers, type PreparedDatabase, prepareDatabase } from './prepared-database.ts'
import { TABLES } from './tables-of-others.ts'

const ROWS = `INSERT INTO books (title, author, year) VALUES
  (NULL, NULL, NULL), ('', NULL, 5), (NULL, 'B 📚', -6), (' T ', '', 0), ('T', 'A', 9007199254740991)`

/** The books of these rows. */
const BOOKS = [
  { id: 1, title: '', author: '', year: 0 },
  { id: 2, title: '', author: '', year: 5 },
  { id: 3, title: '', author: 'B 📚', year: -6 },
  { id: 4, title: ' T ', author: '', year: 0 },
  { id: 5, title: 'T', author: 'A', year: 9007199254740991 },
]

onServers('a table of books that was there before', (engine, databases) => {
  it('is used as it stands, with what is NULL in it', async (t) => {
    const { url, open, query, run } = await prepareDatabase(t, databases, () => [
      TABLES[engine].suiting,
      ROWS,
    ])
    const store = await open()
    /** What other programs see. */
    const stored = async () => {
      const rows = await query('SELECT id, title, author, year FROM books ORDER BY id')
      return rows.map((row) => ({
        ...row,
        id: Number(row.id),
        year: row.year === null ? null : Number(row.year),
      }))
    }
    assert.deepEqual(plain(await Promise.all(BOOKS.map(({ id }) => store.find(id)))), BOOKS)
    assert.deepEqual(await listAll(store), BOOKS)

    const before = await stored()
    const others = { title: 't', author: 'x', year: 1 }
    for (const book of BOOKS) {
      for (const field of ['title', 'author', 'year'] as const) {
        const expected = { ...book, [field]: others[field] }
        assert.equal(await store.update(book.id, { title: 'new' }, expected), undefined)
        assert.equal(await store.delete(book.id, expected), false)
      }
      assert.deepEqual({ ...(await store.update(book.id, {}, book)) }, book)
    }
    assert.deepEqual(await stored(), before)
    // Together and alone, and what is not changed stays NULL.
    const updates = BOOKS.map((book, i) => store.update(book.id, { year: i }, i % 2 === 0 ? book : undefined))
    const updated = BOOKS.map((book, i) => ({ ...book, year: i }))
    assert.deepEqual(plain(await Promise.all(updates)), updated)
    const created = { ...(await store.create({ title: 'é 📚 ', author: "\\'", year: -5 })) }
    assert.equal(created.id, 6)
    assert.deepEqual(await stored(), [...before.map((row, i) => ({ ...row, year: i })), created])
    for (const [i, book] of updated.entries())
      assert.equal(await store.delete(book.id, i === 0 ? undefined : book), true)
    assert.deepEqual(await listAll(store), [created])
    await run(insert(TITLES))
    // With indexes too, which only the owner may add.
    if (engine === 'postgres') await run(`ALTER TABLE books OWNER TO ${nameIn(url)}`)
    const owner = await open()
    const books = [created, ...TITLES.map(bookOf), { ...created, year: 9 }]
    const imported = await owner.import(inGroups(books), { skipExisting: true })
    assert.deepEqual(imported, { added: 1, skipped: 1 + TITLES.length })
    // Also what was written a moment ago.
    await run(insert(['Late']))
    const late = inGroups([bookOf('Late', 0)])
    assert.deepEqual(await owner.import(late, { skipExisting: true }), { added: 0, skipped: 1 })
    await assertComplete(owner)
  })

  for (const [sql, ...says] of TABLES[engine].unsuiting)
    it(`is refused and left as it is: ${says[0]}`, async (t) => {
      const database = await prepareDatabase(t, databases, () => [sql])
      const before = await columnsOf(database)
      await assertRefused(database, ...says)
      assert.deepEqual(await columnsOf(database), before)
    })

  if (engine === 'postgres')
    it('would be refused in a database of another encoding, which is left empty', async (t) => {
      const database = await prepareDatabase(t, databases)
      const [name, server] = [nameIn(database.url), await databases()]
      await server.query(`DROP DATABASE ${name}`)
      await server.query(
        `CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`,
      )
      await assertRefused(database, /encoding SQL_ASCII; .* UTF8/)
      assert.deepEqual(await columnsOf(database), [])
    })
})

/** All that the service might add to the database. */
const columnsOf = ({ url, query }: PreparedDatabase) =>
  query(`
    SELECT * FROM information_schema.columns
    WHERE table_schema IN ('public', '${nameIn(url)}') ORDER BY table_name, ordinal_position`)

const assertRefused = ({ open }: PreparedDatabase, ...says: readonly RegExp[]) =>
  assert.rejects(open(), (error) => {
    assert.ok(error instanceof StoreNotOpened, String(error))
    assert.doesNotMatch(error.message, /\n/)
    for (const each of says) assert.match(error.message, each)
    return true
  })
