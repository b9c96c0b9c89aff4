import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { backupSqlite } from '../../../src/store/sqlite/backup.ts'
import { damageMiddle } from '../../support/damage.ts'
import { newFile } from './file.ts'

it('a backup that is interrupted between its steps, of which it tells, leaves nothing behind', async () => {
  using file = newFile()
  const database = new DatabaseSync(file.path)
  database.exec('CREATE TABLE large AS SELECT zeroblob(10000000) AS x')
  database.close()
  const interruption = new AbortController()
  const steps: number[] = []
  const interrupt = (copied: number, total: number) => {
    steps.push(copied / total)
    interruption.abort(new Error('interrupted'))
  }
  const backup = backupSqlite(file.path, join(file.directory, 'copy.db'), interrupt, interruption.signal)
  await assert.rejects(backup, /interrupted/)
  assert.ok(steps.length > 0 && steps.every((part) => part > 0 && part < 1), `${steps}`)
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})

it('a backup of a damaged database is refused, and leaves nothing behind', async () => {
  using file = newFile()
  const database = new DatabaseSync(file.path)
  database.exec(`
    CREATE TABLE books (n, x);
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
      INSERT INTO books SELECT n, zeroblob(1000) FROM numbers`)
  database.close()
  damageMiddle(file.path)
  const { signal } = new AbortController()
  const backup = backupSqlite(file.path, join(file.directory, 'copy.db'), () => {}, signal)
  await assert.rejects(backup, /fails its integrity check/)
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})
