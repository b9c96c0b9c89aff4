import assert from 'node:assert/strict'
import { it } from 'node:test'
import type pg from 'pg'
import { postgresImport } from '../../../src/store/postgres/import.ts'

it('an import makes the words of costly books in short turns, between which others have theirs', async () => {
  const text = '㌖'.repeat(250)
  const books = Array.from({ length: 400 }, () => ({ title: text, author: text, year: 1 }))
  let turns = 0
  let isSent = false
  const answer = Promise.withResolvers<{ rowCount: number }>()
  const query = () => {
    isSent = true
    return answer.promise
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
  answer.resolve({ rowCount: books.length })
  assert.equal(await importing.stored(), books.length)
  assert.ok(turns >= 5, `${turns} turns`)
})
