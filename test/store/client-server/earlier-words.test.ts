import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { searchedWords } from '../../../src/catalogue/search-words.js'
import type { Store } from '../../../src/catalogue/store.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { DROP_EARLIER_WORDS, EARLIER_WORDS, earlierTable, indexEarlierWords } from '../earlier-schemas.ts'
import { booksOf } from '../pages.ts'
import { prepareDatabase } from './prepared-database.ts'

const PLENTY = { books: 1000, text: 1024 * 1024 }

/** What an upgrade that was killed has already added. */
const BEGUN = {
  postgres: ['ALTER TABLE books ADD COLUMN search_words_2 tsvector'],
  mysql: ['ALTER TABLE books ADD COLUMN search_words_2_of VARBINARY(32)'],
}

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`a database with words of an earlier version, on ${engine}`, {
    skip: engineMissing(engine),
  }, () => {
    const databases = useDatabases(engine)

    /** Books that the earlier version has indexed, and that are found by its rules or by those of this one only. */
    const earlier = (name: string) => [
      ...earlierTable(engine, name, 250),
      ...EARLIER_WORDS[engine],
      "INSERT INTO books (title, author, year) VALUES ('백년의 고독', 'A', 1), ('Cien años de soledad', 'A', 1)",
      indexEarlierWords(engine),
    ]

    for (const begun of [[], BEGUN[engine]])
      it(`all books are found by the rules of this one, ${begun.length > 0 ? 'also after an upgrade that was killed' : 'by several instances'}`, async (t) => {
        const { open, reports } = await prepareDatabase(t, databases, (name) => [...earlier(name), ...begun])
        const stores = await Promise.all(Array.from({ length: 3 }, () => open()))
        for (const store of stores) {
          assert.equal((await titles(store, 'old')).length, 250)
          assert.deepEqual(await titles(store, '고독'), ['백년의 고독'])
          assert.deepEqual(await titles(store, 'anos'), ['Cien años de soledad'])
        }
        assert.deepEqual(reports, [])
      })

    it('instances of both versions write, and neither undoes the work of the other', async (t) => {
      const { open, run, query } = await prepareDatabase(t, databases, earlier)
      const store = await open()
      assert.equal((await titles(store, 'old')).length, 250)
      /** Which books each version has still to index. */
      const due = async () => {
        const [row] = await query(
          engine === 'postgres'
            ? `SELECT count(*) FILTER (WHERE search_words_of IS NULL) AS earlier,
                 count(*) FILTER (WHERE search_words_2_of IS NULL) AS own FROM books`
            : `SELECT SUM(search_words_of IS NULL) AS earlier, SUM(search_words_2_of IS NULL) AS own FROM books`,
        )
        return [Number(row?.earlier), Number(row?.own)]
      }
      await run("INSERT INTO books (title, author, year) VALUES ('서울', 'Earlier instance', 1)")
      await store.create({ title: '부산', author: 'A', year: 1 })
      assert.deepEqual(await titles(store, '울'), ['서울'])
      assert.deepEqual(await titles(store, '산'), ['부산'])
      assert.deepEqual(await due(), [2, 0])
      await run(indexEarlierWords(engine))
      assert.deepEqual(await due(), [0, 0])
      await run("UPDATE books SET title = '대구' WHERE title = '서울'")
      assert.deepEqual([await titles(store, '울'), await titles(store, '구')], [[], ['대구']])
      await run("DELETE FROM books WHERE title = '대구'")
      assert.deepEqual(await titles(store, '구'), [])
      await run(...DROP_EARLIER_WORDS[engine])
      const { id } = await store.create({ title: '제주', author: 'A', year: 1 })
      await store.update(id, { year: 2 })
      assert.deepEqual(await titles(store, '주'), ['제주'])
      assert.deepEqual(await titles(await open(), '주'), ['제주'])
    })
  })
}

async function titles(store: Store, searched: string): Promise<string[]> {
  const query = { filter: { words: searchedWords(searched) }, order: 'relevance' } as const
  return booksOf(await store.page(query, undefined, PLENTY)).map(({ title }) => title)
}
