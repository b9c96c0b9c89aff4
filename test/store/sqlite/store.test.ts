import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { storeContract } from '../contract.ts'
import { newFile, openFile, openNewFile } from './file.ts'

storeContract('SQLite', openNewFile)

describe('the SQLite file', () => {
  it('has a write-ahead log, a version, and a strict table that never gives an id twice', async () => {
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

  it('is whole, and the only file left, after close', async () => {
    using file = newFile()
    const store = await openFile(file.path)
    await store.create({ title: 'T', author: 'A', year: 1 })
    await store.close()
    assert.deepEqual(readdirSync(file.directory), ['books.db'])
    const other = new DatabaseSync(file.path, { readOnly: true })
    assert.equal(other.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    other.close()
  })
})
