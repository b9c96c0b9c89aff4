import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { logIn } from '../support/client.ts'
import { runCommand } from '../support/command.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { assertWritten, runAll } from './transcript.ts'

// How it is interrupted: test/store/sqlite/failures.test.ts.
describe('backup of a database in use', () => {
  const service = useService()
  const run = (...args: string[]) => runCommand(service.directory, { DB_URL: 'sqlite:books.db' }, ...args)

  it('is for the same people as the database, which is for its user alone unless somebody opens it', async (t) => {
    const umask = process.umask(0o022)
    t.after(() => process.umask(umask))
    const mode = (name: string) => (statSync(join(service.directory, name)).mode & 0o777).toString(8)
    await runAll(service.directory, ['backup closed.db', 'export books.csv'], { DB_URL: 'sqlite:books.db' })
    assert.deepEqual(['books.db', 'closed.db', 'books.csv'].map(mode), ['600', '600', '600'])
    chmodSync(join(service.directory, 'books.db'), 0o640)
    await run('backup', 'open.db')
    assert.equal(mode('open.db'), '640')
  })
})

describe('restore', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const path = (name: string) => join(directory.path, name)
  const run = (...args: string[]) => runCommand(directory.path, { DB_URL: 'sqlite:books.db' }, ...args)
  const refused = async (file: string, expected: RegExp) => {
    const { code, stderr } = await run('restore', file)
    assert.deepEqual([code, expected.test(stderr)], [1, true], stderr)
  }
  const titles = (name: string) => {
    using database = new DatabaseSync(path(name))
    return database
      .prepare('SELECT title FROM books')
      .all()
      .map(({ title }) => title)
  }
  const replaced = () => readdirSync(directory.path).filter((name) => name.includes('.replaced-'))

  it('brings back the books of a backup, and nothing that is written later is lost', async () => {
    const service = await startService(directory.path)
    const headers = { authorization: await logIn(service.url) }
    const create = async (title: string) => {
      const body = JSON.stringify({ title, author: 'A', year: 1 })
      assert.equal((await fetch(`${service.url}/book`, { method: 'POST', headers, body })).status, 201)
    }
    await create('first')
    await run('backup', 'copy.db')
    await create('second')
    chmodSync(path('books.db'), 0o640)
    await refused('copy.db', /a service is running on .*books\.db; stop it first/)
    await service.stop('SIGKILL')
    await refused('copy.db', /there is .*books\.db-wal: .*book-catalogue check takes these writes/)
    assert.equal((await run('check')).code, 0)
    const { stdout } = await run('restore', 'copy.db')
    assert.match(stdout, /books\.db has the 1 book of copy\.db\nthe database that was there is kept as .*\n$/)
    assert.deepEqual([titles('books.db'), titles('copy.db')], [['first'], ['first']])
    assert.deepEqual(replaced().map(titles), [['first', 'second']])
    assert.equal(statSync(path('books.db')).mode & 0o777, 0o640)
  })

  it('refuses what is no backup, before it changes anything', async () => {
    writeFileSync(path('text.db'), 'no database at all, but text of some length '.repeat(99))
    writeFileSync(path('empty.db'), '')
    using other = new DatabaseSync(path('other.db'))
    other.exec('CREATE TABLE t (a)')
    using damaged = new DatabaseSync(path('damaged.db'))
    damaged.exec(`PRAGMA application_id = 0x426f6f6b; PRAGMA user_version = 1;
      CREATE TABLE books (title TEXT CHECK (title <> 0));
      PRAGMA ignore_check_constraints = ON; INSERT INTO books VALUES (0)`)
    symlinkSync('books.db', path('link.db'))
    const before = readdirSync(directory.path)
    const expected = {
      'DB_URL=sqlite:empty.db backup new.db': 'Cannot back up: …: the file is empty, no catalogue of books',
      'restore none.db': 'Cannot restore: …there is no file none.db…',
      'restore text.db': 'Cannot restore: …text.db: file is not a database…',
      'restore empty.db': 'Cannot restore: …empty.db: the file is empty, no catalogue of books…',
      'restore other.db': 'Cannot restore: …other.db: the database is of another program…',
      'restore damaged.db':
        'Cannot restore: …damaged.db: the copy fails its integrity check: CHECK constraint failed…',
      'restore link.db': 'Cannot restore: …link.db is the database itself…',
      'DB_URL=sqlite:. restore books.db': 'Cannot restore: /… is a directory or a device…',
    }
    const all = await runAll(directory.path, Object.keys(expected), { DB_URL: 'sqlite:books.db' })
    for (const [i, [line, message]] of Object.entries(expected).entries())
      assertWritten(all[i], line, `! ${message}`)
    assert.deepEqual(readdirSync(directory.path), before)
    assert.deepEqual(titles('books.db'), ['first'])
  })

  it('shows its progress, as a backup does, and both leave nothing behind when they are interrupted', async () => {
    copyFileSync(path('copy.db'), path('large.db'))
    {
      using database = new DatabaseSync(path('large.db'))
      database.exec(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO books (id, title, author, year) SELECT i, printf('%04000d', i), 'A', 1 FROM n`)
    }
    const before = readdirSync(directory.path)
    const expected = {
      'restore large.db': 'Cannot restore: interrupted; nothing has changed\n',
      'DB_URL=sqlite:large.db backup b.db': 'Cannot back up: interrupted; nothing is left behind\n',
    }
    const settings = { DB_URL: 'sqlite:books.db', SLOW: '1', TERMINAL: '1', INTERRUPT_AT: 'copying' }
    const all = await runAll(directory.path, Object.keys(expected), settings)
    for (const [i, message] of Object.values(expected).entries()) {
      const [, bar, last] = all[i]?.stderr.split('\r\x1b[K') ?? []
      assert.match(bar ?? '', /^copying: \[#+ +\] \d\d %, 1,000 pages, /)
      assert.equal(last, message)
    }
    assert.deepEqual(readdirSync(directory.path), before)
    assert.deepEqual(titles('books.db'), ['first'])
  })

  it('replaces a damaged database, and one behind a symbolic link', async () => {
    writeFileSync(path('books.db'), 'damaged '.repeat(999))
    mkdirSync(path('theirs'))
    // Only the superuser can give a file to somebody else.
    if (process.geteuid?.() === 0)
      for (const name of ['books.db', 'theirs']) chownSync(path(name), 1234, 1235)
    const { uid, gid } = statSync(path('books.db'))
    const names = ['books.db', 'link.db', 'new/a.db', 'theirs/a.db']
    const lines = names.map((name) => `DB_URL=sqlite:${name} restore copy.db`)
    const [replacing, linked, made] = await runAll(directory.path, lines)
    assert.deepEqual([replacing?.code, linked?.code, replaced().length], [0, 0, 3])
    assert.deepEqual(titles('books.db'), ['first'])
    for (const name of ['books.db', 'theirs/a.db']) {
      const restored = statSync(path(name))
      assert.deepEqual([restored.uid, restored.gid], [uid, gid], name)
    }
    // Not those of the directory: others could read it.
    assert.equal(statSync(path('theirs/a.db')).mode & 0o777, 0o600)
    assert.ok(lstatSync(path('link.db')).isSymbolicLink())
    assert.match(made?.stdout ?? '', /^\S+\/new\/a\.db has the 1 book of copy\.db\n$/)
  })
})
