import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Databases } from '../../support/database-server.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { TABLES } from '../client-server/tables-of-others.ts'

/** An extent of InnoDB, in bytes. */
const EXTENT = 1024 * 1024

describe('the files of the tables, on MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  for (const [table, sql] of Object.entries({
    'its own table': undefined,
    'a table of GORM': TABLES.mysql.suiting['as GORM makes it'],
  })) {
    it(`are larger than an extent once the service has started, and have no row and no id less: ${table}`, async () => {
      const on = await databases()
      const url = await on.createDatabase()
      if (sql !== undefined) await on.query(sql, url)
      const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(parseDbUrl(url))))
      for (const table of sql === undefined ? ['books', 'book_words'] : ['books']) {
        assert.deepEqual(await on.query(`SELECT * FROM ${table}`, url), [])
        const file = await fileSize(on, url, table)
        assert.ok(file > EXTENT && file < 16 * EXTENT, `${table}: ${file} bytes`)
      }
      assert.equal((await stores[0]?.create({ title: 'T', author: 'A', year: 1 }))?.id, 1)
      for (const store of stores) await store.close()
      await on.dropDatabase(url)
    })
  }
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
