import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { allPages } from '../../../src/catalogue/page.ts'
import type { BookFilter, BookQuery, Position, SortField, SortName } from '../../../src/catalogue/query.ts'
import { COMPARED_LENGTH, sortKey } from '../../../src/catalogue/sort-key.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import { openConnection, statementCache } from '../../../src/store/sqlite/connection.ts'
import { addFunctions } from '../../../src/store/sqlite/dialect.ts'
import { indexState, readSqlitePage } from '../../../src/store/sqlite/query.ts'
import { ensureSchema, UNINDEXED } from '../../../src/store/sqlite/schema.ts'
import { searchIndexOf } from '../../../src/store/sqlite/search-index.ts'
import { booksOf, inGroups, listAll, plain } from '../pages.ts'
import { searchFor } from '../query-model.ts'
import { newDatabase, newFile, openedFile, openFile } from './file.ts'

const PLENTY = { books: 1000, text: 2 ** 20 }
const by = (...names: SortName[]): SortField[] =>
  [...names, 'id' as const].map((name) => ({ name, descending: false }))
const ALL_BY_TITLE: BookQuery = { filter: {}, order: by('title') }

/** A file that the release with that version of the schema has written. */
const earlier = (version: number) => join(import.meta.dirname, `../earlier-schemas/sqlite-${version}.db`)

function earlierFile(version: number) {
  const file = newFile()
  copyFileSync(earlier(version), file.path)
  return file
}

async function search(store: Store, text: string): Promise<number[]> {
  return booksOf(await store.page(searchFor(text), undefined, PLENTY)).map(({ id }) => id)
}

const sorted = async (store: Store) =>
  booksOf(await store.page(ALL_BY_TITLE, undefined, PLENTY)).map(({ title }) => title)

const groups = (books: number) =>
  inGroups(Array.from({ length: books }, (_, i) => ({ title: `word${i}`, author: 'A', year: i % 1000 })))

/** So many books that their keys are indexed anew. */
const LARGE = 21_000

/** Adds so many books that the index is far behind, and keeps the lock so that it cannot follow. */
const addManyAndLock = (database: DatabaseSync, changes = '') =>
  database.exec(`
    BEGIN IMMEDIATE;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
      INSERT INTO books (title, author, year) SELECT 'Many', 'A', 4 FROM n;
    ${changes};
    COMMIT;
    BEGIN IMMEDIATE`)

/** The indexes of keys, with their statistics. */
const indexesOf = (database: DatabaseSync) =>
  database
    .prepare(
      `SELECT name, sql, stat FROM sqlite_schema JOIN sqlite_stat1 ON idx = name
       WHERE type = 'index' AND tbl_name = 'book_keys' ORDER BY name`,
    )
    .all()

/** Waits until the index has all books of these ids, without a query that would see to it. */
async function untilIndexed(path: string, last = 2 ** 40, meanwhile = async () => {}): Promise<number> {
  using database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 })
  const behind = database.prepare(`SELECT count(*) AS books FROM ${UNINDEXED} WHERE id <= ?`)
  let rounds = 0
  for (; behind.get(last)?.books !== 0; rounds++) {
    await meanwhile()
    await setTimeout(10)
  }
  return rounds
}

describe('a file of an earlier schema', () => {
  it('1 is brought up to date by several instances that start at once, and its books are found', async () => {
    using file = earlierFile(1)
    const stores = await Promise.all(Array.from({ length: 3 }, () => openFile(file.path)))
    for (const store of stores) {
      const ids = (await listAll(store)).map(({ id }) => id)
      assert.deepEqual(ids, [1, 3, 4, 5])
      for (const [text, id] of [
        ['garcia soledad', 1],
        ['孤独', 3],
        ['ιλιας', 4],
      ] as const)
        assert.deepEqual(await search(store, text), [id])
      assert.deepEqual(await sorted(store), ['', 'Cien años de soledad', 'Ἰλιάς', '百年孤独'])
    }
    const created = await stores[0]?.create({ title: 'New', author: 'A', year: 1 })
    assert.equal(created?.id, 7, 'an id was given again')
    for (const store of stores) assert.deepEqual(await search(store, 'new'), [7])
    await Promise.all(stores.map((store) => store.close()))
    using database = new DatabaseSync(file.path, { readOnly: true })
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, 6)
  })

  it('2 has its words made anew at start, also if the process was killed meanwhile', async () => {
    using file = earlierFile(2)
    {
      using database = new DatabaseSync(file.path)
      ensureSchema(database)
      assert.equal(searchIndexOf(database).step(0).books, 1)
    }
    for (let start = 1; start <= 2; start++) {
      const store = await openFile(file.path)
      for (const [text, ...ids] of [
        ['고독', 3],
        ['python', 4],
        ['كتاب', 5],
        ['c++', 6],
        ['c', 7, 6, 1],
        ['c#'],
      ] as const)
        assert.deepEqual(await search(store, text), ids, text)
      await store.close()
    }
  })

  it('5 has its keys made anew', async () => {
    using file = newDatabase()
    const { database, path } = file
    database.exec(`
      INSERT INTO books (title, author, year) VALUES ('The Stranger', 'A', 1), ('Emma', 'A', 1);
      INSERT INTO book_keys VALUES (1, 'a', 'a', 1), (2, 'b', 'a', 1);
      DELETE FROM ${UNINDEXED};
      ALTER TABLE ${UNINDEXED} RENAME TO unindexed_3;
      PRAGMA user_version = 5`)
    const store = await openFile(path)
    assert.deepEqual(await sorted(store), ['Emma', 'The Stranger'])
    await store.close()
  })

  it('3 has its books in their new order at once, before and after they are indexed again', async () => {
    const titles = '???|Die|ete|Été|L’Étranger|The Stranger|Der Zauberberg|zèbre|百年孤独'.split('|')
    await using file = await openedFile(earlier(3))
    const { store } = file
    const walk: string[] = []
    for (let after: Position | undefined, more = true; more; ) {
      const page = await store.page(ALL_BY_TITLE, after, { ...PLENTY, books: 2 })
      walk.push(...booksOf(page).map(({ title }) => title))
      after = page.last
      more = page.more
      if (walk.length === 4) await untilIndexed(file.path)
    }
    assert.deepEqual(walk, titles)
    using other = openConnection(file.path)
    const indexes = other.prepare(
      "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE INDEX%' ORDER BY name",
    )
    assert.deepEqual(
      indexes.all().map(({ name }) => name),
      ['book_keys_author', 'book_keys_title', 'book_keys_year'],
    )
    assert.deepEqual((await store.statistics({})).authors, [
      { author: 'Éluard', books: 4 },
      { author: 'eluard', books: 3 },
      { author: 'Zola', books: 2 },
    ])
    assert.equal(await store.count({ title: 'Été', author: 'eluard' }), 1)
  })
})

describe('a step of the index', () => {
  it('takes one book at least, and none after its time', () => {
    using file = newDatabase()
    for (let i = 0; i < 3; i++)
      file.database.exec("INSERT INTO books (title, author, year) VALUES ('T', '', 1)")
    const index = searchIndexOf(file.database)
    assert.deepEqual(index.step(0), { books: 1, last: 1 })
    assert.deepEqual(index.step(60_000), { books: 2, last: Number.POSITIVE_INFINITY })
  })

  it('leaves later writes durable, also if it could not begin or failed', () => {
    using file = newDatabase()
    const { database } = file
    const index = searchIndexOf(database)
    const assertDurable = () => {
      assert.deepEqual({ ...database.prepare('PRAGMA synchronous').get() }, { synchronous: 2 })
      assert.equal(database.isTransaction, false)
    }
    index.step(1000)
    assertDurable()
    using other = openConnection(file.path)
    other.exec('BEGIN IMMEDIATE')
    assert.throws(() => index.step(1000), /locked/)
    assertDurable()
    other.exec(`
      INSERT INTO books (title, author, year) VALUES ('T', 'A', 1);
      CREATE TRIGGER fails BEFORE INSERT ON book_keys BEGIN SELECT RAISE(ABORT, 'no room'); END;
      COMMIT`)
    assert.throws(() => index.step(1000), /no room/)
    assertDurable()
    // What node:sqlite cannot read must not keep the connection at this state of the file.
    other.exec(`DROP TRIGGER fails; INSERT INTO ${UNINDEXED} VALUES (${2n ** 53n})`)
    assert.throws(() => index.step(1000), { code: 'ERR_OUT_OF_RANGE' })
    other.exec(`DELETE FROM ${UNINDEXED} WHERE id > 1`)
    assert.equal(index.step(1000).books, 1)
  })
})

describe('the index of a SQLite file', () => {
  for (const isWriting of [false, true])
    it(`catches up with what an earlier run has left, ${isWriting ? 'while writes never cease' : 'without a write'}`, async () => {
      using file = newDatabase()
      addManyAndLock(file.database)
      file.database.exec('ROLLBACK')
      const store = await openFile(file.path)
      await untilIndexed(file.path, 6000, async () => {
        if (isWriting) await store.create({ title: 'new', author: 'A', year: 1 })
      })
      await store.close()
    })

  it('has what the books have, whoever creates, changes and deletes them', async () => {
    await using file = await openedFile()
    const { store } = file
    using other = new DatabaseSync(file.path, { timeout: 60_000 })
    for (let i = 0; i < 20; i++) {
      const { id } = await store.create({ title: `a${i}`, author: 'A', year: i })
      other.exec(`INSERT INTO books (title, author, year) VALUES ('their${i}', 'B', 2)`)
      if (i % 3 === 0) assert.deepEqual(await search(store, `their${i}`), [id + 1])
      if (i === 18) other.exec(`UPDATE books SET rowid = 1000 WHERE id = ${id + 1}`)
      await store.update(id, { title: `b${i}` })
      other.exec(`UPDATE books SET title = 'theirs${i}' WHERE id = ${id + 1}`)
      if (i % 5 === 0) await store.delete(id)
      if (i % 7 === 0) other.exec(`DELETE FROM books WHERE id = ${id + 1}`)
    }
    for (const gone of ['a1', 'theirs7']) assert.deepEqual(await search(store, gone), [])
    const books = await listAll(store)
    other.exec("INSERT INTO book_words (book_words) VALUES ('integrity-check')")
    const keys = other.prepare(
      'SELECT id, title_key AS title, author_key AS author, year_key AS year FROM book_keys',
    )
    const keysOf = ({ id, title, author, year }: (typeof books)[number]) => ({
      id,
      title: sortKey('title', title),
      author: sortKey('author', author),
      year,
    })
    assert.deepEqual(plain(keys.all() as never), books.map(keysOf))
    const words = other.prepare("SELECT rowid AS id FROM book_words WHERE book_words MATCH 'a OR b'").all()
    assert.deepEqual(
      words.map(({ id }) => id),
      books.map(({ id }) => id),
    )
  })

  it('has a year that is no number of JavaScript, as another program may write it, as the nearest that is', async () => {
    await using file = await openedFile()
    const { store } = file
    using other = new DatabaseSync(file.path, { timeout: 60_000 })
    other.exec(
      `INSERT INTO books (title, author, year) VALUES ('T', 'A', ${2n ** 53n}), ('T', 'A', ${-(2n ** 63n)})`,
    )
    const years = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
    const yearsBy = async (query: BookQuery) =>
      booksOf(await store.page(query, undefined, PLENTY)).map(({ year }) => year)
    assert.deepEqual(await yearsBy(ALL_BY_TITLE), years)
    assert.deepEqual(await yearsBy({ filter: {}, order: by('id') }), years)
    assert.ok(
      (await store.page({ filter: {}, order: by('id') }, undefined, PLENTY)).json().includes(`${years[0]}}`),
    )
    assert.equal((await store.update(1, { title: 'U' }, await store.find(1)))?.year, years[0])
    addManyAndLock(other)
    assert.deepEqual((await yearsBy({ filter: {}, order: by('year') })).slice(0, 2), [years[1], 4])
    other.exec('ROLLBACK')
  })

  it('is far behind with more than 5,000 books, or 2 MiB of the text that is searched, to index', async () => {
    await using file = await openedFile()
    using other = openConnection(file.path)
    const database = statementCache(other)
    for (const [books, length, state, ofAuthor = 1] of [
      [5000, 1, 'behind'],
      [5001, 1, 'far behind'],
      [131, 20_000, 'behind', 8],
      [131, 20_000, 'far behind', 9],
    ] as const) {
      other.exec(`
        BEGIN;
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${books})
          INSERT INTO books (title, author, year) SELECT printf('%.*c', ${length}, 'x'), printf('%.*c', ${ofAuthor}, 'x'), 1 FROM n`)
      assert.equal(indexState(database), state)
      other.exec('ROLLBACK')
      assert.equal(indexState(database), 'current')
    }
  })

  it('is used as it is when it is far behind, and the query says so', async () => {
    await using file = await openedFile()
    const { store } = file
    for (const title of ['Kept', 'Gone', 'Before', 'Bell Tower', 'Sea'])
      await store.create({ title, author: title === 'Sea' ? 'Bell' : 'A', year: 1 })
    assert.deepEqual(await search(store, 'bell'), [4, 5])
    using other = openConnection(file.path)
    addManyAndLock(
      other,
      `DELETE FROM books WHERE id = 2;
       UPDATE books SET title = 'Before and After' WHERE id = 3;
       UPDATE books SET title = 'Bell', author = 'Sea' WHERE id = 5`,
    )
    let incomplete = 0
    const onIncomplete = () => incomplete++
    const titles = async (text: string) => {
      const page = await store.page(searchFor(text), undefined, { ...PLENTY, books: 1 }, { onIncomplete })
      return [...booksOf(page).map(({ title }) => title), page.more]
    }
    assert.deepEqual(await titles('kept'), ['Kept', false])
    for (const text of ['gone', 'many', 'after']) assert.deepEqual(await titles(text), [false])
    assert.deepEqual(await titles('before'), ['Before and After', false])
    // Its words are the same, and its title is now the one that is searched.
    assert.deepEqual(await titles('bell'), ['Bell', true])
    assert.equal(incomplete, 6)
    // Only words need the index. Keys are made of the books.
    assert.equal(await store.count({ year: 4 }, { onIncomplete }), 6000)
    const { decades, authors } = await store.statistics({}, { onIncomplete })
    assert.deepEqual([decades, authors[0]], [[{ decade: 0, books: 6004 }], { author: 'A', books: 6003 }])
    const first = await store.page(ALL_BY_TITLE, undefined, { ...PLENTY, books: 1 }, { onIncomplete })
    const [{ title } = { title: '' }] = booksOf(first)
    assert.deepEqual([title, first.last], ['Before and After', [sortKey('title', title), 3]])
    assert.equal(incomplete, 6)
    other.exec('ROLLBACK')
    while (incomplete > 0) {
      incomplete = 0
      await titles('many')
    }
    assert.deepEqual(await titles('many'), ['Many', true])
    assert.deepEqual(await titles('after'), ['Before and After', false])
    // It is followed the next time, too.
    addManyAndLock(other, '')
    other.exec('ROLLBACK')
    do {
      incomplete = 0
      await titles('many')
    } while (incomplete > 0)
  })

  it('follows a large import while other processes write; then it has pages in any order, and lets those of many books read few rows', async () => {
    await using file = await openedFile()
    const { store } = file
    using other = openConnection(file.path)
    const before = indexesOf(other)
    assert.equal(before.length, 3)
    await store.import(groups(LARGE))
    const written = await untilIndexed(file.path, LARGE, async () => {
      other.exec("INSERT INTO books (title, author, year) VALUES ('Theirs', 'B', 2)")
    })
    assert.ok(written > 0, 'the index was never behind')
    assert.equal((await search(store, 'theirs')).length, Math.min(written, PLENTY.books))
    assert.deepEqual(await search(store, 'word20999'), [LARGE])
    assert.deepEqual(indexesOf(other), before)

    // The first attempt may not read so many rows.
    assert.equal(await store.count({ yearMin: 100, yearMax: 800 }), 701 * 21)
    const all = (await listAll(store)).filter(({ author }) => author === 'A')
    // The index of another key selects too many books to sort.
    const selections: readonly [BookFilter, ...SortName[]][] = [
      [{ yearMin: 100, yearMax: 800 }, 'title'],
      [{ yearMin: 100, yearMax: 800 }],
      [{ author: 'A', yearMin: 100 }, 'year', 'title'],
    ]
    for (const [filter, ...names] of selections) {
      const found: number[] = []
      for await (const page of allPages(store, { filter, order: by(...names) }))
        found.push(...booksOf(page).map(({ id }) => id))
      const { yearMin = 0, yearMax = 1000 } = filter
      const some = all.filter(({ year }) => yearMin <= year && year <= yearMax)
      // The titles have the order of the ids.
      if (names.includes('year')) some.sort((a, b) => a.year - b.year || a.id - b.id)
      const expected = some.map(({ id }) => id)
      assert.deepEqual(found, expected, JSON.stringify([filter, names]))
    }

    let rows = 0
    addFunctions(other, () => ++rows)
    const readPage = (order: BookQuery['order'], filter: BookFilter = { author: 'A' }) => {
      rows = 0
      return readSqlitePage(other, { filter, order }, undefined, { books: 1, text: 1000 }, false)
    }
    for (const [order, filter] of [[by('title')], [by('year', 'title'), {}]] as const) {
      assert.equal((await readPage(order, filter)).count, 1)
      // Theirs come first by title.
      assert.ok(rows < 100 + written, `it read ${rows} rows, sorted by ${JSON.stringify(order)}`)
    }
    // An import may have dropped one since the index was found current.
    other.exec('DROP INDEX book_keys_year; DROP INDEX book_keys_title')
    assert.equal((await readPage(by('title'))).count, 1)
    assert.equal(rows, LARGE)
    // A query that does not look for that has it made.
    assert.equal((await sorted(store))[0], 'Theirs')
    assert.deepEqual(indexesOf(other), before)
  })

  it('finds books that others change after it was brought up to date for a query only by what they are now', async () => {
    await using file = await openedFile()
    const changes = ["'Beta', 1999", "'Alphabet', 1999", "'Alpha', 2000"]
    for (const _change of changes) await file.store.create({ title: 'Alpha', author: 'A', year: 1999 })
    await untilIndexed(file.path)
    using other = openConnection(file.path)
    addFunctions(other, () => 1)
    for (const [i, change] of changes.entries())
      other.exec(`UPDATE books SET (title, year) = (${change}) WHERE id = ${i + 1}`)
    const found = async (filter: BookFilter) => {
      const page = await readSqlitePage(other, { filter, order: by('title') }, undefined, PLENTY, false)
      return booksOf(page).map(({ id }) => id)
    }
    assert.deepEqual(await found({ year: 1999 }), [1, 2])
    assert.deepEqual(await found({ yearMax: 1999 }), [1, 2])
    assert.deepEqual(await found({ words: ['alpha'] }), [2, 3])
    const byYear = { filter: {}, order: by('year') }
    // Where the index has the book.
    assert.deepEqual((await readSqlitePage(other, byYear, undefined, PLENTY, false)).last, [1999, 3])
    assert.deepEqual(await found({ words: ['alpha'], yearMin: 1999, yearMax: 1999 }), [2])
    // However often that happens, a query waits only once.
    other.exec(`CREATE TRIGGER again AFTER DELETE ON ${UNINDEXED}
      BEGIN INSERT INTO ${UNINDEXED} VALUES (old.id); END`)
    assert.deepEqual(await search(file.store, 'alphabet'), [2])
  })

  it('computes keys from the beginning of a long text alone, because node:sqlite keeps what a function gets', async () => {
    using file = newDatabase()
    const { database } = file
    database.exec(
      "INSERT INTO books (title, author, year) VALUES ('B' || hex(zeroblob(1000)), 'A', 1), ('A', 'A', 1)",
    )
    addFunctions(database, () => 1)
    let longest = 0
    database.function('sort_key', (name, text) => {
      longest = Math.max(longest, String(text).length)
      return sortKey(name as SortName, String(text))
    })
    const page = await readSqlitePage(database, ALL_BY_TITLE, undefined, PLENTY, true)
    assert.deepEqual(
      booksOf(page).map(({ id }) => id),
      [2, 1],
    )
    assert.equal(longest, COMPARED_LENGTH)
  })

  it('cannot follow while another process holds the write lock: a search says so, and finds all afterwards', async () => {
    await using file = await openedFile()
    const { store } = file
    using other = new DatabaseSync(file.path, { timeout: 60_000 })
    other.exec("INSERT INTO books (title, author, year) VALUES ('Kept', 'A', 1); BEGIN IMMEDIATE")
    let incomplete = 0
    const page = await store.page(searchFor('kept'), undefined, PLENTY, { onIncomplete: () => incomplete++ })
    assert.deepEqual([page.count, incomplete], [0, 1])
    const byId: BookQuery = { filter: {}, order: [{ name: 'id', descending: true }] }
    assert.equal((await store.page(byId, undefined, PLENTY)).count, 1, 'this one needs no index')
    other.exec('ROLLBACK')
    assert.deepEqual(await search(store, 'kept'), [1])
  })
})
