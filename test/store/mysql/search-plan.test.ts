import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dialectOf, NO_WORDS } from '../../../src/store/mysql/dialect.ts'
import { WORDS } from '../../../src/store/mysql/search-index.ts'
import { conditionOf } from '../../../src/store/query/dialect.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { openPatiently } from '../new-database.ts'

const BOOKS = 3000

describe('the plan of a search on MySQL', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')

  it('looks up the words of each book by the book, also with the statistics of an empty table', async () => {
    const url = await (await databases()).createDatabase()
    const store = await openPatiently(url)
    const query = async (sql: string) => (await databases()).query(sql, url)
    await query(`ALTER TABLE ${WORDS} STATS_AUTO_RECALC = 0`)
    await store.import(
      (async function* () {
        yield Array.from({ length: BOOKS }, (_, i) => ({
          title: `word${i % 7} w${i} v${i % 50} u${i % 11}`,
          author: `a${i % 100} b${i % 9}`,
          year: 1,
        }))
      })(),
    )
    let isIncomplete: boolean
    do {
      isIncomplete = false
      await store.count({ words: ['word'] }, { onIncomplete: () => (isIncomplete = true) })
    } while (isIncomplete)
    await store.close()
    const { where } = conditionOf({ words: ['word'] }, dialectOf('year', 'stored', NO_WORDS))
    const plan = await query(
      `EXPLAIN SELECT id FROM books WHERE ${where.replaceAll('?', "'word'")} ORDER BY id LIMIT 50`,
    )
    const keys = plan.filter(({ table }) => table === WORDS).map(({ key }) => key)
    assert.deepEqual(keys, ['PRIMARY'])
  })
})
