import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { dialectOf } from '../../../src/store/mysql/dialect.ts'
import { isReadOnly, MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { WORDS } from '../../../src/store/mysql/search-index.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { conditionOf } from '../../../src/store/query/dialect.ts'
import { openSession } from '../../faults/engine-servers.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { prepareDatabase, untilGivenUp } from '../client-server/prepared-database.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase } from '../new-database.ts'
import { inGroups, plain } from '../pages.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** How often the store tries what the server rolls back: once with the requests that came together, then alone. */
const ATTEMPTS = 6

/** So many books that the server would rather read all words than look them up. */
const MANY = 3000

describe('MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')
  storeContract('MariaDB', async () => openNewDatabase(await databases()))

  /** A store with some books, and with a trigger that undoes the changes of the next so many updates. */
  async function openUndoing(t: TestContext) {
    const { open, run, query } = await prepareDatabase(t, databases)
    const store = await open()
    const created = plain(await Promise.all(Array.from({ length: 4 }, () => store.create(BOOK))))
    // Waits until the books are indexed. That would update them too, and MariaDB does not notice a deadlock with the
    // table of the trigger.
    await store.count({ words: ['t'] })
    await run(
      // This table is not rolled back with the transaction.
      'CREATE TABLE updates (done INT NOT NULL, undone INT NOT NULL) ENGINE = MyISAM',
      'INSERT INTO updates VALUES (0, 0)',
      `CREATE TRIGGER undoing BEFORE UPDATE ON books FOR EACH ROW
      IF CAST(CONCAT_WS('|', NEW.title, NEW.author, NEW.year) AS BINARY)
        <> CAST(CONCAT_WS('|', OLD.title, OLD.author, OLD.year) AS BINARY)
      THEN
        UPDATE updates SET done = done + 1;
        IF (SELECT done FROM updates) <= (SELECT undone FROM updates) THEN
          SET NEW.title = OLD.title, NEW.author = OLD.author, NEW.year = OLD.year;
        END IF;
      END IF`,
    )
    const [book] = created
    assert.ok(book)
    return {
      store,
      book,
      created,
      undoNext: (updates: number) => run(`UPDATE updates SET done = 0, undone = ${updates}`),
      updates: async () => (await query('SELECT done FROM updates'))[0]?.done,
    }
  }

  it('an update after which the book lacks the change is done again, by itself also if it was done with others', async (t) => {
    const { store, created, book, undoNext, updates } = await openUndoing(t)
    for (const changes of [{ title: 't' }, { title: 'T ' }, { author: '' }, { year: 0 }])
      for (const expected of [undefined, book]) {
        await undoNext(1)
        const changed = { ...book, ...changes }
        assert.deepEqual({ ...(await store.update(book.id, changes, expected)) }, changed)
        assert.equal(await updates(), 2, JSON.stringify(changes))
        assert.deepEqual({ ...(await store.find(book.id)) }, changed)
        await store.update(book.id, book)
      }
    await undoNext(1)
    const updated = await Promise.all(created.map(({ id }) => store.update(id, { year: 9 })))
    const expected = created.map((book) => ({ ...book, year: 9 }))
    assert.deepEqual(plain(updated), expected)
    assert.deepEqual(plain(await Promise.all(created.map(({ id }) => store.find(id)))), expected)
    assert.equal(await updates(), 2 * created.length)

    // If that happens every time, it is refused, and nothing is stored.
    const [last] = expected
    assert.ok(last)
    await undoNext(ATTEMPTS)
    await assert.rejects(store.update(last.id, { title: 'U', year: 2 }), StoreUnavailable)
    assert.equal(await updates(), ATTEMPTS)
    assert.deepEqual({ ...(await store.find(last.id)) }, last)
  })

  it('an import that the server rolls back is not done again, because its books can be read only once', async (t) => {
    const { open, run } = await prepareDatabase(t, databases)
    const store = await open()
    await run(`CREATE TRIGGER deadlock BEFORE INSERT ON books FOR EACH ROW
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213`)
    await assert.rejects(store.import(inGroups([BOOK])), StoreUnavailable)
  })

  it('is read-only where only the transactions of a connection are', async (t) => {
    const { url } = await prepareDatabase(t, databases)
    const driver = new MysqlDriver(parseMysqlUrl(url))
    const connection = await driver.connect()
    await connection.query('SET SESSION TRANSACTION READ ONLY')
    const is = await isReadOnly(connection)
    await driver.end(connection)
    assert.equal(is, true)
  })

  it('does no statement again by itself as a node of Galera: its books would get other ids; and gives up waiting for a lock before the store does, which then knows that nothing was written', async (t) => {
    const { url, open, run, query } = await prepareDatabase(t, databases)
    await (await open()).close()
    await run('ALTER TABLE books DROP INDEX books_by_plain_year')
    // A start that waits less, while it changes the table, changes nothing of that.
    await using session = await openSession(url)
    await session.run('BEGIN')
    await session.run('SELECT id FROM books')
    const opening = open(4, 60_000)
    await untilGivenUp('mysql', query)
    await session.run('COMMIT')
    const store = await opening
    await run(`CREATE TRIGGER settings BEFORE INSERT ON books FOR EACH ROW
      SET NEW.title = CONCAT(@@session.wsrep_retry_autocommit, ' times, ', @@innodb_lock_wait_timeout, ' s, ', @@lock_wait_timeout, ' s')`)
    const { id } = await store.create(BOOK)
    assert.equal((await store.find(id))?.title, '0 times, 59 s, 59 s')
  })

  it('makes words anew if the table of books was restored without them, except those of a protected book', async (t) => {
    const { open, run } = await prepareDatabase(t, databases)
    const store = await open()
    await store.import(inGroups(Array(MANY).fill(BOOK)))
    while ((await store.count({ words: ['t'] })) < MANY);
    await store.close()
    await run(
      `DROP TABLE ${WORDS}`,
      `CREATE TRIGGER protection BEFORE UPDATE ON books FOR EACH ROW
       BEGIN IF OLD.id = 5 THEN SIGNAL SQLSTATE '45000'; END IF; END`,
    )
    const restored = await open()
    let isIncomplete: boolean
    let found: number
    const onIncomplete = () => {
      isIncomplete = true
    }
    do {
      isIncomplete = false
      found = await restored.count({ words: ['t'] }, { onIncomplete })
    } while (isIncomplete)
    assert.equal(found, MANY - 1)
  })

  it('looks up the words of each book by the book, also with the statistics of an empty table', async (t) => {
    const { open, run, query } = await prepareDatabase(t, databases)
    const store = await open()
    await run(`ALTER TABLE ${WORDS} STATS_AUTO_RECALC = 0`)
    const books = Array.from({ length: MANY }, (_, i) => ({
      title: `word${i % 7} w${i} v${i % 50} u${i % 11}`,
      author: `a${i % 100} b${i % 9}`,
      year: 1,
    }))
    await store.import(inGroups(books))
    while ((await store.count({ words: ['word'] })) < MANY);
    const { where } = conditionOf({ words: ['word'] }, dialectOf('year', 'stored'))
    const plan = await query(
      `EXPLAIN SELECT id FROM books WHERE ${where.replaceAll('?', "'word'")} ORDER BY id LIMIT 50`,
    )
    const keys = plan.filter(({ table }) => table === WORDS).map(({ key }) => key)
    assert.deepEqual(keys, ['PRIMARY'])
  })
})
