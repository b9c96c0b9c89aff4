import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openConnection } from '../../../src/store/sqlite/connection.ts'
import { ImportStaging } from '../../../src/store/sqlite/import-staging.ts'
import { ensureSchema } from '../../../src/store/sqlite/schema.ts'
import { newFile } from './file.ts'

describe('books that are staged for an import into SQLite', () => {
  it('are compared with what others write until they are stored', () => {
    using file = newFile()
    using database = openConnection(file.path)
    ensureSchema(database)
    const staging = new ImportStaging(database, { skipExisting: true })
    staging.add(['Dune', 'Emma'].flatMap((title) => [null, title, 'A', 1]))
    while (staging.skipExisting());
    using other = openConnection(file.path)
    other.exec("INSERT INTO books (title, author, year) VALUES ('Dune', 'A', 1)")
    assert.deepEqual(staging.store(), { added: 1, skipped: 1 })
    const titles = other.prepare('SELECT title FROM books').all()
    assert.deepEqual(
      titles.map(({ title }) => title),
      ['Dune', 'Emma'],
    )
  })
})
