import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import type { Databases } from '../../support/database-server.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { TABLES } from '../client-server/tables-of-others.ts'
import { openPatiently } from '../new-database.ts'

/** The number of ER_RECORD_FILE_FULL. */
const RECORD_FILE_FULL = 1114

/** An extent of InnoDB, in bytes. */
const EXTENT = 1024 * 1024

describe('the files of the tables, on MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  it('are larger than an extent once the service has started, and have no row and no id less', async () => {
    const on = await databases()
    const url = await on.createDatabase()
    const stores = await Promise.all(Array.from({ length: 4 }, () => openPatiently(url)))
    for (const table of ['books', 'book_words_2']) {
      assert.deepEqual(await on.query(`SELECT * FROM ${table}`, url), [])
      const file = await fileSize(on, url, table)
      assert.ok(file > EXTENT && file < 16 * EXTENT, `${table}: ${file} bytes`)
    }
    assert.equal((await stores[0]?.create({ title: 'T', author: 'A', year: 1 }))?.id, 1)
    for (const store of stores) await store.close()
    await on.dropDatabase(url)
  })
})

describe('a table that the service did not make, on MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  /** The rows that anybody tried to insert, whether they were rolled back or not. */
  async function watchInserts(on: Databases, url: string) {
    // A table that is not rolled back with a transaction.
    await on.query('CREATE TABLE inserts (title TEXT) ENGINE = MyISAM', url)
    await on.query(
      'CREATE TRIGGER watching BEFORE INSERT ON books FOR EACH ROW INSERT INTO inserts VALUES (LEFT(NEW.title, 9))',
      url,
    )
    return async () => (await on.query('SELECT title FROM inserts', url)).map(({ title }) => String(title))
  }

  it('gets no row but books of clients, also when its disk was full', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    await on.query(TABLES.mysql.suiting['as GORM makes it'] ?? '', url)
    const inserts = await watchInserts(on, url)
    // What the server reports of a full disk.
    await on.query(
      `CREATE TRIGGER full BEFORE UPDATE ON books FOR EACH ROW
       IF NEW.title = 'full' THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${RECORD_FILE_FULL}; END IF`,
      url,
    )
    const store = await openPatiently(url)
    t.after(() => store.close())
    t.after(() => on.dropDatabase(url))
    const { id } = await store.create({ title: 'T', author: 'A', year: 1 })
    await assert.rejects(store.update(id, { title: 'full' }), StoreUnavailable)
    assert.equal((await store.update(id, { title: 'U' }))?.title, 'U')
    assert.deepEqual(await inserts(), ['T'])
  })

  it('would be seen to get others: they are written into a table of its own', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    await (await openPatiently(url)).close()
    const inserts = await watchInserts(on, url)
    await on.query('ALTER TABLE books FORCE', url)
    const store = await openPatiently(url)
    await store.close()
    assert.deepEqual(await inserts(), ['xxxxxxxxx'])
  })
})

/** The size of the file of a table, in bytes. */
async function fileSize(on: Databases, url: string, table: string): Promise<number> {
  const [files] = await on.query(`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'information_schema' AND table_name IN ('INNODB_SYS_TABLESPACES', 'INNODB_TABLESPACES')`)
  const [file] = await on.query(
    `SELECT file_size AS size FROM information_schema.${files?.name} WHERE name = '${nameIn(url)}/${table}'`,
  )
  return Number(file?.size)
}
