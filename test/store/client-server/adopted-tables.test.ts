import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { STREAM_PAGE } from '../../../src/catalogue/page.ts'
import { type Store, StoreNotOpened } from '../../../src/catalogue/store.ts'
import type { Databases, Row } from '../../support/database-server.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'
import { booksOf, listAll, listPages } from '../pages.ts'
import { TABLES } from './tables-of-others.ts'

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`a table of books that was there before, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    const { suiting, unsuiting } = TABLES[engine]
    for (const [what, sql] of Object.entries(suiting)) {
      describe(`is used as it stands: ${what}`, () => suits(databases, sql))
    }
    for (const [what, [sql, says]] of Object.entries(unsuiting)) {
      it(`is refused and left as it is: ${what}`, async () => {
        await using database = await newDatabase(databases)
        await database.query(sql)
        const before = await describeAll(database)
        assert.match(await refusal(database.url), says)
        assert.deepEqual(await describeAll(database), before)
      })
    }
  })
}

describe('a database of PostgreSQL in another encoding', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')

  for (const encoding of ['LATIN1', 'SQL_ASCII']) {
    it(`is refused and left empty: ${encoding}`, async () => {
      await using database = await newDatabase(databases)
      const name = nameIn(database.url)
      const server = await databases()
      await server.query(`DROP DATABASE ${name}`)
      await server.query(
        `CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`,
      )
      assert.match(await refusal(database.url), new RegExp(`encoding ${encoding}; .* UTF8`))
      assert.deepEqual((await describeAll(database)).columns, [])
    })
  }
})

/** What the store has to do on a table, in which others have put books and may put more. */
function suits(databases: () => Promise<Databases>, sql: string): void {
  let database: Database
  let store: Store
  beforeEach(async () => {
    database = await newDatabase(databases)
    await database.query(sql)
    await database.query(`INSERT INTO books (title, author, year) VALUES
      (NULL, NULL, NULL), ('', NULL, 5), (NULL, 'B 📚', -6), (' T ', '', 0), ('T', 'A', 9007199254740991)`)
    store = await openPatiently(database.url)
  })
  afterEach(async () => {
    await store.close()
    await database[Symbol.asyncDispose]()
  })

  const BOOKS = [
    { id: 1, title: '', author: '', year: 0 },
    { id: 2, title: '', author: '', year: 5 },
    { id: 3, title: '', author: 'B 📚', year: -6 },
    { id: 4, title: ' T ', author: '', year: 0 },
    { id: 5, title: 'T', author: 'A', year: 9007199254740991 },
  ]
  /** What other programs see. */
  const stored = async (id: number) => {
    const rows = await database.query(`SELECT title, author, year FROM books WHERE id = ${id}`)
    return rows.map((row) => ({ ...row, year: String(row.year) }))
  }

  it('reads NULL as an empty text or 0, singly and in the list', async () => {
    for (const book of BOOKS) assert.deepEqual({ ...(await store.find(book.id)) }, book)
    assert.deepEqual(await listAll(store), BOOKS)
  })

  it('reads long texts beside NULL in pages of bounded size', async () => {
    const length = 100_000
    for (const column of ['title', 'author'])
      await database.query(`INSERT INTO books (${column}) SELECT REPEAT('x', ${length}) FROM books`)
    let books = 0
    for await (const page of listPages(store)) {
      const read = booksOf(page)
      const { length: characters } = JSON.stringify(read)
      assert.ok(characters < STREAM_PAGE.text + 2 * length, `${characters} characters`)
      books += read.length
    }
    assert.equal(books, 4 * BOOKS.length)
  })

  it('updates some fields and keeps the others, NULL or not', async () => {
    const books = BOOKS.slice()
    for (const changes of [{}, { title: 'new 📚' }, { author: '' }, { year: -1 }, { title: '', year: 0 }]) {
      for (const [i, book] of books.entries()) {
        const changed = { ...book, ...changes }
        assert.deepEqual({ ...(await store.update(book.id, changes)) }, changed)
        assert.deepEqual({ ...(await store.find(book.id)) }, changed)
        books[i] = changed
      }
    }
    assert.deepEqual(await listAll(store), books)
  })

  it('updates several books at once and keeps their other fields, even what is NULL', async () => {
    const before = await Promise.all(BOOKS.map(({ id }) => stored(id)))
    const updates = BOOKS.map((book, i) => store.update(book.id, { year: i }, i % 2 === 0 ? book : undefined))
    for (const [i, book] of (await Promise.all(updates)).entries())
      assert.deepEqual({ ...book }, { ...BOOKS[i], year: i })
    for (const [i, { id }] of BOOKS.entries())
      assert.deepEqual(await stored(id), [{ ...before[i]?.[0], year: `${i}` }])
  })

  it('changes and deletes a book as it is read, NULL or not, and no other', async () => {
    const others = { title: 't', author: 'x', year: 1 }
    for (const book of BOOKS) {
      for (const field of ['title', 'author', 'year'] as const) {
        const expected = { ...book, [field]: others[field] }
        assert.equal(await store.update(book.id, { title: 'new' }, expected), undefined)
        assert.equal(await store.delete(book.id, expected), false)
      }
      assert.deepEqual({ ...(await store.update(book.id, {}, book)) }, book)
      const changed = { ...book, author: `${book.author} ` }
      assert.deepEqual({ ...(await store.update(book.id, { author: changed.author }, book)) }, changed)
      assert.equal(await store.delete(book.id, book), false)
      assert.equal(await store.delete(book.id, changed), true)
    }
    assert.deepEqual(await listAll(store), [])
  })

  it('creates and deletes books beside those that are there, with ids above theirs', async () => {
    const created = await store.create({ title: 'é 📚 ', author: "\\'", year: -5 })
    assert.equal(created.id, 6)
    assert.deepEqual(await stored(created.id), [{ title: 'é 📚 ', author: "\\'", year: '-5' }])
    assert.equal(await store.delete(1), true)
    assert.equal(await store.delete(1), false)
    assert.deepEqual(await stored(1), [])
    assert.deepEqual(
      (await listAll(store)).map(({ id }) => id),
      [2, 3, 4, 5, 6],
    )
  })
}

interface Database extends AsyncDisposable {
  readonly url: string
  /** Runs a statement as the administrator. */
  query(sql: string): Promise<Row[]>
}

async function newDatabase(getDatabases: () => Promise<Databases>): Promise<Database> {
  const databases = await getDatabases()
  const url = await databases.createDatabase()
  return {
    url,
    query: (sql) => databases.query(sql, url),
    [Symbol.asyncDispose]: () => databases.dropDatabase(url),
  }
}

/** Everything in the database that the service might change. */
async function describeAll({ url, query }: Database) {
  const columns = await query(`
    SELECT * FROM information_schema.columns
    WHERE table_schema IN ('public', '${nameIn(url)}') ORDER BY table_name, ordinal_position`)
  return { columns, rows: columns.length > 0 ? await query('SELECT * FROM books') : [] }
}

/** @returns what the refusal says. */
async function refusal(url: string): Promise<string> {
  const error: unknown = await openPatiently(url).then(
    () => assert.fail('the store was opened'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof StoreNotOpened, String(error))
  assert.doesNotMatch(error.message, /\n/)
  return error.message
}
