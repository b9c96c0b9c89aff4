import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { MAIN, runCommand } from '../support/command.ts'
import { INHERITED } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

describe('backup of a database in use', () => {
  const service = useService()
  const settings = { DB_URL: 'sqlite:books.db' }
  const run = (...args: string[]) => runCommand(service.directory, settings, ...args)
  const create = () => service.createBook({ title: 'x'.repeat(2000), author: 'A', year: 1 })

  it('holds every write that was acknowledged before it began', async () => {
    const all: number[] = []
    while (all.length < 50) all.push(await create())
    const before = [...all]
    let done = false
    const writers = Array.from({ length: 8 }, async () => {
      while (!done) all.push(await create())
    })
    const { code, stderr } = await run('backup', 'copy.db')
    done = true
    await Promise.all(writers)
    assert.equal(code, 0, stderr)
    assert.ok(all.length > before.length, 'books were written meanwhile')
    using copy = new DatabaseSync(join(service.directory, 'copy.db'))
    assert.equal(copy.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    const stored = new Set(
      copy
        .prepare('SELECT id FROM books')
        .all()
        .map(({ id }) => id),
    )
    assert.deepEqual(
      before.filter((id) => !stored.has(id)),
      [],
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

  it('leaves nothing behind when it is interrupted', async () => {
    const options = { cwd: service.directory, env: { ...INHERITED, ...settings } }
    const child = spawn(process.execPath, [MAIN, 'backup', 'interrupted.db'], options)
    const exited = once(child, 'exit')
    const left = () => readdirSync(service.directory).filter((name) => /part|interrupted/.test(name))
    while (left().length === 0 && child.exitCode === null) await setImmediate()
    child.kill('SIGINT')
    const [code] = await exited
    // The copy may have been complete before the signal came.
    assert.deepEqual(left(), code === 0 ? ['interrupted.db'] : [])
  })
})
