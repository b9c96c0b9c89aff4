import assert from 'node:assert/strict'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { useService } from '../support/use-service.ts'

// How it is interrupted: test/store/sqlite/failures.test.ts.
describe('backup of a database in use', () => {
  const service = useService()
  const run = (...args: string[]) => runCommand(service.directory, { DB_URL: 'sqlite:books.db' }, ...args)
  const create = () => service.createBook({ title: 'x'.repeat(2000), author: 'A', year: 1 })

  it('holds every write that was acknowledged before it began', async () => {
    const before: number[] = []
    while (before.length < 50) before.push(await create())
    let [written, done] = [0, false]
    const writers = Array.from({ length: 8 }, async () => {
      while (!done) written = await create()
    })
    const { code, stderr } = await run('backup', 'copy.db')
    done = true
    await Promise.all(writers)
    assert.equal(code, 0, stderr)
    assert.ok(written > 0, 'books were written meanwhile')
    using copy = new DatabaseSync(join(service.directory, 'copy.db'))
    assert.equal(copy.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    const stored = copy.prepare('SELECT id FROM books').all()
    assert.deepEqual(
      stored.slice(0, before.length).map(({ id }) => id),
      before,
    )
  })

  it('is for the same people as the database, which is for its user alone unless somebody opens it', async (t) => {
    const umask = process.umask(0o022)
    t.after(() => process.umask(umask))
    const mode = (name: string) => (statSync(join(service.directory, name)).mode & 0o777).toString(8)
    await run('backup', 'closed.db')
    await run('export', 'books.csv')
    assert.deepEqual(['books.db', 'closed.db', 'books.csv'].map(mode), ['600', '600', '600'])
    chmodSync(join(service.directory, 'books.db'), 0o640)
    await run('backup', 'open.db')
    assert.equal(mode('open.db'), '640')
  })
})
