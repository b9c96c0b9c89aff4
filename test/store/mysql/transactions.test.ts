import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Store, StoreUnavailable } from '../../../src/catalogue/store.ts'
import { serverMissing, startServer } from '../../faults/engine-servers.ts'
import type { Row } from '../../support/database-server.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** How often the store tries what the server rolls back: once with the requests that came together, then alone. */
const ATTEMPTS = 6

describe('the transactions of the store on MySQL', { skip: serverMissing('mysql') }, () => {
  it('prepare no statement: the server might not report that it rolls them back meanwhile', async (t) => {
    const server = await startServer('mysql', { settings: { 'general-log': '1', 'log-output': 'TABLE' } })
    t.after(() => server.remove())
    const store = await openPatiently(await server.createDatabase())
    await useEverything(store)
    await store.close()
    const log = await server.query(`
      SELECT thread_id, command_type, CONVERT(argument USING utf8mb4) AS argument FROM mysql.general_log`)
    const transactions = transactionsIn(log)
    for (const does of [/\bUPDATE books\b/, /\bINSERT INTO books\b/, /\bINSERT INTO book_words_2\b/])
      assert.ok(
        transactions.some((lines) => lines.some((line) => does.test(line))),
        `none does ${does}`,
      )
    assert.deepEqual(
      transactions.filter((lines) => lines.some((line) => line.startsWith('Prepare'))),
      [],
    )
  })
})

/** Each write is done once on a connection on which no statement has been prepared before, where it can be. */
async function useEverything(store: Store): Promise<void> {
  const { id } = await store.create(BOOK)
  // At once, so that they are on connections of their own.
  await Promise.all([store.update(id, { title: 'U' }), store.update(id, { year: 2 }), store.find(id)])
  const expected = await store.find(id)
  assert.ok(expected !== undefined)
  await Promise.all([store.find(id), store.find(id), store.update(id, { author: 'B' }, expected)])
  async function* books() {
    yield [BOOK, { ...BOOK, title: 'another' }]
  }
  assert.equal((await store.import(books(), { skipExisting: true })).added, 2)
  await store.page({ filter: { words: ['another'] }, order: 'relevance' }, undefined, { books: 1, text: 100 })
  assert.equal(await store.delete(id), true)
}

/** What each connection did from the beginning of a transaction to its end. */
function transactionsIn(log: readonly Row[]): string[][] {
  const transactions: string[][] = []
  for (const rows of Map.groupBy(log, ({ thread_id }) => thread_id).values()) {
    let open: string[] | undefined
    for (const { command_type, argument } of rows) {
      const line = `${command_type} ${argument}`
      if (line === 'Query START TRANSACTION') {
        open = []
        transactions.push(open)
      }
      if (line === 'Query COMMIT' || line === 'Query ROLLBACK') open = undefined
      open?.push(line)
    }
  }
  return transactions
}

describe('an update on MySQL after which the book lacks the change', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  /** A store with one book, and with a trigger that undoes the changes of the first so many updates. */
  async function openUndoing(updates: number) {
    const on = await databases()
    const url = await on.createDatabase()
    const store = await openPatiently(url)
    const { id } = await store.create(BOOK)
    // Waits until the book is indexed. That would update the book too, and MariaDB does not notice a deadlock with the
    // table of the trigger.
    await store.count({ words: ['t'] })
    // The table of a trigger that counts is not rolled back with its transaction.
    await on.query('CREATE TABLE updates (n INT NOT NULL) ENGINE = MyISAM', url)
    await on.query('INSERT INTO updates VALUES (0)', url)
    await on.query(
      `CREATE TRIGGER undoing BEFORE UPDATE ON books FOR EACH ROW
      IF CAST(CONCAT_WS('|', NEW.title, NEW.author, NEW.year) AS BINARY)
        <> CAST(CONCAT_WS('|', OLD.title, OLD.author, OLD.year) AS BINARY)
      THEN
        UPDATE updates SET n = n + 1;
        IF (SELECT n FROM updates) <= ${updates} THEN
          SET NEW.title = OLD.title, NEW.author = OLD.author, NEW.year = OLD.year;
        END IF;
      END IF`,
      url,
    )
    return {
      store,
      id,
      updates: async () => (await on.query('SELECT n FROM updates', url))[0]?.n,
      [Symbol.asyncDispose]: async () => {
        await store.close()
        await on.dropDatabase(url)
      },
    }
  }

  for (const changes of [{ title: 't' }, { title: 'T ' }, { author: '' }, { year: 0 }]) {
    it(`is done again, also if the book has to be as expected: ${JSON.stringify(changes)}`, async () => {
      for (const isExpected of [false, true]) {
        await using undoing = await openUndoing(1)
        const { store, id } = undoing
        const book = { id, ...BOOK, ...changes }
        const updated = await store.update(id, changes, isExpected ? { id, ...BOOK } : undefined)
        assert.deepEqual({ ...updated }, book)
        assert.equal(await undoing.updates(), 2)
        assert.deepEqual({ ...(await store.find(id)) }, book)
      }
    })
  }

  it('is done again by itself if it was done with others', async () => {
    await using undoing = await openUndoing(1)
    const { store, id } = undoing
    const others = await Promise.all([1, 2, 3].map((year) => store.create({ ...BOOK, year })))
    await store.count({ words: ['t'] })
    const ids = [id, ...others.map((book) => book.id)]
    for (const book of await Promise.all(ids.map((id) => store.update(id, { year: 9 }))))
      assert.equal(book?.year, 9)
    for (const id of ids) assert.equal((await store.find(id))?.year, 9)
    assert.equal(await undoing.updates(), 2 * ids.length)
  })

  it('is refused, and nothing is stored, if that happens every time', async () => {
    await using undoing = await openUndoing(ATTEMPTS)
    const { store, id } = undoing
    await assert.rejects(store.update(id, { title: 'U', year: 2 }), StoreUnavailable)
    assert.equal(await undoing.updates(), ATTEMPTS)
    assert.deepEqual({ ...(await store.find(id)) }, { id, ...BOOK })
  })
})

describe('an import on MySQL that the server rolls back', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  it('is not done again, because its books can be read only once', async () => {
    const on = await databases()
    const url = await on.createDatabase()
    const store = await openPatiently(url)
    await on.query(
      `CREATE TRIGGER deadlock BEFORE INSERT ON books FOR EACH ROW
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213`,
      url,
    )
    async function* books() {
      yield [BOOK]
    }
    await assert.rejects(store.import(books()), StoreUnavailable)
    await store.close()
    await on.dropDatabase(url)
  })
})
