import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { postgresImport } from '../../../src/store/postgres/import.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'

it('an import makes the words of costly books in short turns, between which others have theirs', async () => {
  const text = '㌖'.repeat(250)
  const books = Array.from({ length: 400 }, () => ({ title: text, author: text, year: 1 }))
  let turns = 0
  let isSent = false
  const response = Promise.withResolvers<{ rowCount: number }>()
  const query = () => {
    isSent = true
    return response.promise
  }
  const count = () => {
    if (isSent) return
    turns++
    setImmediate(count)
  }
  count()
  const importing = postgresImport({ query } as unknown as pg.Client, { hasKeys: true, hasWords: true })
  // The next books are read while the server stores these.
  await importing.insert(books, undefined)
  response.resolve({ rowCount: books.length })
  assert.equal(await importing.stored(), books.length)
  assert.ok(turns >= 5, `${turns} turns`)
})

describe('an import that skips existing books', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')

  it('looks them up by their titles, also while the server takes the catalogue for empty', async (t) => {
    const on = await databases()
    const url = await on.createDatabase()
    t.after(() => on.dropDatabase(url))
    const store = await openPatiently(url)
    await store.create({ title: 'T', author: 'A', year: 1 })
    async function* groups() {
      for (let i = 0; i < 12_000; i += 500)
        yield Array.from({ length: 500 }, (_, j) => ({ title: `Title ${i + j}`, author: 'A', year: 1 }))
    }
    await store.import(groups(), { skipExisting: true })
    // The server counts what a connection has done when it ends.
    await store.close()
    const [years] = await on.query(
      "SELECT idx_scan AS scans FROM pg_stat_user_indexes WHERE indexrelname LIKE '%year%'",
      url,
    )
    assert.ok(Number(years?.scans) < 500, `${years?.scans} scans of the index of years`)
  })
})
