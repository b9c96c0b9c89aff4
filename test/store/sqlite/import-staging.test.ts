import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { openConnection } from '../../../src/store/sqlite/connection.ts'
import { importStaging } from '../../../src/store/sqlite/import-staging.ts'
import { newDatabase } from './file.ts'

describe('books that are staged for an import into SQLite', () => {
  let file: ReturnType<typeof newDatabase>
  beforeEach(() => {
    file = newDatabase()
  })
  afterEach(() => file[Symbol.dispose]())

  const store = (...titles: string[]) => {
    using other = openConnection(file.path)
    const insert = other.prepare("INSERT INTO books (title, author, year) VALUES (?, 'A', 1)")
    for (const title of titles) insert.run(title)
  }
  const stage = (...titles: string[]) => {
    const staging = importStaging(file.database, { skipExisting: true })
    staging.add(titles.flatMap((title) => [null, title, 'A', 1]))
    while (staging.skipExisting());
    return staging
  }

  it('are compared with what others write until they are stored', () => {
    const staging = stage('Dune', 'Emma')
    store('Dune')
    assert.deepEqual(
      staging.store(() => {}),
      { added: 1, skipped: 1 },
    )
    const titles = file.database.prepare('SELECT title FROM books').all()
    assert.deepEqual(
      titles.map(({ title }) => title),
      ['Dune', 'Emma'],
    )
  })

  it('are all skipped behind a very long book, even if one statement does not remove so many', () => {
    store('x'.repeat(3 * 1024 * 1024), 'Dune')
    assert.deepEqual(stage(...Array<string>(20_001).fill('Dune')).counts(), { added: 0, skipped: 20_001 })
  })

  it('are found whether their texts count as long or not', () => {
    // With the author, they have 399 to 402 bytes.
    const titles = [398, 399, 400, 401].map((bytes) => `é${'x'.repeat(bytes - 2)}`)
    store(...titles)
    assert.deepEqual(stage(...titles).counts(), { added: 0, skipped: titles.length })
  })
})
