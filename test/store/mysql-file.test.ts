import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import type { Databases } from '../support/database-server.ts'
import { nameIn } from '../support/database-url.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { TABLES } from './tables-of-others.ts'

/** An extent of InnoDB, in bytes. */
const EXTENT = 1024 * 1024

describe('the file of the table, on MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  for (const [table, sql] of Object.entries({
    'its own table': undefined,
    'a table of GORM': TABLES.mysql.suiting['as GORM makes it'],
  })) {
    it(`is larger than an extent once the service has started, and has no row and no id less: ${table}`, async () => {
      const on = await databases()
      const url = await on.createDatabase()
      if (sql !== undefined) await on.query(sql, url)
      // Some start at once, and one later.
      const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(parseDbUrl(url))))
      stores.push(await openStore(parseDbUrl(url)))
      assert.deepEqual(await on.query('SELECT * FROM books', url), [])
      const file = await fileSize(on, url)
      assert.ok(file > EXTENT && file < 16 * EXTENT, `${file} bytes`)
      assert.equal((await stores[0]?.create({ title: 'T', author: 'A', year: 1 }))?.id, 1)
      for (const store of stores) await store.close()
      await on.dropDatabase(url)
    })
  }
})

/** The size of the file of a database's table of books, in bytes. */
async function fileSize(on: Databases, url: string): Promise<number> {
  const [files] = await on.query(`
    SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'information_schema' AND table_name IN ('INNODB_SYS_TABLESPACES', 'INNODB_TABLESPACES')`)
  const [file] = await on.query(
    `SELECT file_size AS size FROM information_schema.${files?.name} WHERE name = '${nameIn(url)}/books'`,
  )
  return Number(file?.size)
}
