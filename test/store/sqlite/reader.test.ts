import assert from 'node:assert/strict'
import { it } from 'node:test'
import { QueryTooLong, SqliteReader } from '../../../src/store/sqlite/reader.ts'
import { newFile, openFile } from './file.ts'

it('a query that reads too many rows fails each time, and others of the same kind do not', async (t) => {
  using file = newFile()
  const store = await openFile(file.path)
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.create({ title: `Part ${i}`, author: 'A', year: 1 })),
  )
  const reader = new SqliteReader(file.path, 60_000, 100)
  t.after(() => reader.close())
  const ask = (books: number) =>
    reader.ask(
      {
        kind: 'page',
        query: { filter: { year: 1 }, order: [{ name: 'id', descending: true }] },
        after: undefined,
        bounds: { books, text: 1_000_000 },
      },
      'as it is',
      60_000,
    )
  for (let i = 0; i < 2; i++) {
    await assert.rejects(ask(150), QueryTooLong)
    assert.notEqual(await ask(50), 'behind')
  }
})
