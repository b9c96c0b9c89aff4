import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { storeContract } from '../contract.ts'
import { newFile, openFile, openNewFile } from './file.ts'

storeContract('SQLite', openNewFile)

it('the SQLite file has a write-ahead log, a version, and a strict table that never gives an id twice', async () => {
  using file = newFile()
  const store = await openFile(file.path)
  const { id } = await store.create({ title: 'T', author: 'A', year: 1 })
  const other = new DatabaseSync(file.path, { readOnly: true })
  const one = (sql: string) => other.prepare(sql).get() ?? {}
  assert.equal(one('PRAGMA journal_mode').journal_mode, 'wal')
  assert.equal(one('PRAGMA user_version').user_version, 6)
  assert.equal(one("PRAGMA table_list('books')").strict, 1)
  assert.equal(one("SELECT seq FROM sqlite_sequence WHERE name = 'books'").seq, id)
  other.close()
  await store.close()
})
