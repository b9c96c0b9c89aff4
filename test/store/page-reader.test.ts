import assert from 'node:assert/strict'
import { it } from 'node:test'
import { booksOf } from '../../src/catalogue/page.ts'
import type { SortField } from '../../src/catalogue/query.ts'
import { dialectOf } from '../../src/store/postgres/dialect.ts'
import { readPage } from '../../src/store/query/page-reader.ts'

const by = (name: SortField['name'], descending = false): SortField => ({ name, descending })

// All else: contract-query.ts.
it('a page goes on after a key whose books are deleted before they are read', async () => {
  const book = { id: 1, title: 'T', author: 'A', year: 6 }
  const keys = [5]
  /** Reads what is before the key, what has it, and what is behind it. */
  const found = [[], [], [{ book, key: book }]]
  const source = {
    dialect: dialectOf('stored'),
    read: async () => found.shift() ?? [],
    keyAt: async () => keys.shift(),
  }
  const query = { filter: {}, order: [by('year'), by('title'), by('id')] }
  assert.deepEqual(booksOf(await readPage(source, query, undefined, { books: 1, text: 1000 })), [book])
})
