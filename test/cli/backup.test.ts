import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { logIn } from '../support/client.ts'
import { startService } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.ts')

describe('backup of a database in use', () => {
  const service = useService()

  const options = (dbUrl = 'sqlite:books.db') => ({
    cwd: service.directory,
    env: { PATH: process.env.PATH, DB_URL: dbUrl },
  })
  const backUp = (...args: string[]) =>
    promisify(execFile)(process.execPath, [MAIN, 'backup', ...args], options())

  const create = () => service.createBook({ title: 'x'.repeat(2000), author: 'A', year: 1 })

  /** Writes over several connections until the operation ends; answers what was acknowledged before it began. */
  async function whileWriting(
    operation: () => Promise<unknown>,
  ): Promise<{ before: number[]; all: number[] }> {
    const all: number[] = []
    let done = false
    const writers = Array.from({ length: 8 }, async () => {
      while (!done) all.push(await create())
    })
    while (all.length < 50) await create()
    const before = [...all]
    await operation().finally(() => {
      done = true
      return Promise.allSettled(writers)
    })
    await Promise.all(writers)
    return { before, all }
  }

  /** Opens a copy, checks it, and answers the ids that it holds. */
  function idsIn(name: string): Set<unknown> {
    using copy = new DatabaseSync(join(service.directory, name))
    assert.equal(copy.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    return new Set(
      copy
        .prepare('SELECT id FROM books')
        .all()
        .map(({ id }) => id),
    )
  }

  it('holds every write that was acknowledged before it began, and can be opened', async () => {
    const { before, all } = await whileWriting(() => backUp('copy.db'))
    const stored = idsIn('copy.db')
    assert.deepEqual(
      before.filter((id) => !stored.has(id)),
      [],
    )
    assert.ok(all.length > before.length, 'books were written meanwhile')
  })

  it('serves the same books when the service is started on the copy', async (t) => {
    await backUp('served.db')
    const other = await startService(service.directory, { DB_URL: 'sqlite:served.db' })
    t.after(() => other.stop())
    const list = async ({ url }: { url: string }) =>
      (await fetch(`${url}/books`, { headers: { authorization: await logIn(url) } })).text()
    assert.equal(await list(other), await list(service))
  })

  it('is for the same people as the database, which is for its user alone unless somebody opens it', async (t) => {
    const umask = process.umask(0o022)
    t.after(() => process.umask(umask))
    const mode = (name: string) => (statSync(join(service.directory, name)).mode & 0o777).toString(8)
    assert.equal(mode('books.db'), '600')
    await backUp('closed.db')
    assert.equal(mode('closed.db'), '600')
    await promisify(execFile)(process.execPath, [MAIN, 'export', 'books.csv'], options())
    assert.equal(mode('books.csv'), '600')
    t.after(() => chmodSync(join(service.directory, 'books.db'), 0o600))
    chmodSync(join(service.directory, 'books.db'), 0o640)
    await backUp('open.db')
    assert.equal(mode('open.db'), '640')
  })

  it('never replaces a file', async () => {
    writeFileSync(join(service.directory, 'mine.txt'), 'mine')
    await assert.rejects(backUp('mine.txt'), {
      code: 1,
      stderr: /^Cannot back up: mine\.txt exists already.*\n$/,
    })
  })

  it('says what is wrong in one line: no database, no directory, no argument', async () => {
    const missing = promisify(execFile)(process.execPath, [MAIN, 'backup', 'a.db'], options('sqlite:none.db'))
    await assert.rejects(missing, {
      code: 1,
      stderr: /^Cannot back up: there is no database \/.*\/none\.db\n$/,
    })
    await assert.rejects(backUp('none/a.db'), {
      code: 1,
      stderr: /^Cannot back up: there is no directory \S+\n$/,
    })
    await assert.rejects(backUp(), { code: 2, stderr: /book-catalogue backup --help/ })
  })

  it('leaves nothing behind when it is interrupted', async () => {
    const child = spawn(process.execPath, [MAIN, 'backup', 'interrupted.db'], { ...options(), stdio: 'pipe' })
    const exited = once(child, 'exit')
    const part = () => readdirSync(service.directory).some((name) => name.endsWith('.part'))
    while (!part() && child.exitCode === null) await setTimeout(1)
    child.kill('SIGINT')
    const [code] = await exited
    const left = readdirSync(service.directory).filter(
      (name) => name.includes('part') || name.includes('interrupted'),
    )
    // The copy may have been complete before the signal came.
    assert.deepEqual(left, code === 0 ? ['interrupted.db'] : [])
  })
})
