import assert from 'node:assert/strict'
import { it } from 'node:test'
import { booksOf } from '../../src/catalogue/page.ts'
import type { SortField } from '../../src/catalogue/query.ts'
import { dialectOf } from '../../src/store/postgres/dialect.ts'
import { readPage } from '../../src/store/query/page-reader.ts'

const by = (name: SortField['name'], descending = false): SortField => ({ name, descending })

// All else: contract-query.ts.
it('a page goes on after a key whose books are deleted before they are read, with the text that is left', async () => {
  const [before, behind] = [4, 6].map((year) => {
    const book = { id: year, title: 'T', author: 'A', year }
    return { book, key: book }
  })
  assert.ok(before && behind)
  const keys = [5]
  /** Reads what is before the key, what has it, and what is behind it. */
  const found = [[before], [], [behind]]
  const texts: number[] = []
  const source = {
    dialect: dialectOf('stored'),
    read: async (_range: unknown, _books: number, text: number) => {
      texts.push(text)
      return found.shift() ?? []
    },
    keyAt: async () => keys.shift(),
  }
  const query = { filter: {}, order: [by('year'), by('title'), by('id')] }
  const page = await readPage(source, query, undefined, { books: 2, text: 1000 })
  assert.deepEqual(
    [booksOf(page), texts],
    [
      [before.book, behind.book],
      [1000, 998, 998],
    ],
  )
})
