import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { backupSqlite } from '../../../src/store/sqlite/backup.ts'
import { newFile } from './file.ts'

it('a backup that is interrupted between its steps leaves nothing behind', async () => {
  using file = newFile()
  const database = new DatabaseSync(file.path)
  database.exec('CREATE TABLE large AS SELECT zeroblob(10000000) AS x')
  database.close()
  const interruption = new AbortController()
  const interrupt = () => interruption.abort(new Error('interrupted'))
  const backup = backupSqlite(file.path, join(file.directory, 'copy.db'), interrupt, interruption.signal)
  await assert.rejects(backup, /interrupted/)
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})
