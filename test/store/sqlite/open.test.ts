import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { makeDurable } from '../../../src/store/sqlite/connection.ts'
import { describeProblem, whyNotCreatable } from '../../../src/store/sqlite/errors.ts'
import { newFile, openFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

describe('opening an SQLite file', () => {
  it('makes the directories above it, and is the only file left after close', async () => {
    using file = newFile()
    const path = join(file.directory, 'a/b/c/books.db')
    await (await openFile(path)).close()
    // An empty file is a new one, too.
    writeFileSync(path, '')
    await (await openFile(path)).close()
    assert.deepEqual(readdirSync(dirname(path)), ['books.db'])
  })

  it('takes a path for no URI', async (t) => {
    using file = newFile()
    const cwd = process.cwd()
    t.after(() => process.chdir(cwd))
    process.chdir(file.directory)
    const store = await openFile('file::memory:')
    await store.create(BOOK)
    await store.close()
    assert.deepEqual(readdirSync(file.directory), ['file::memory:'])
  })

  it('opens a file to which another process is writing for long', async () => {
    using file = newFile()
    const first = await openFile(file.path)
    await first.create(BOOK)
    await first.close()
    using other = new DatabaseSync(file.path)
    other.exec('BEGIN IMMEDIATE')
    const store = await openFile(file.path)
    assert.deepEqual({ ...(await store.find(1)) }, { id: 1, ...BOOK })
    other.exec('ROLLBACK')
    assert.equal((await store.create(BOOK)).id, 2)
    await store.close()
  })

  it('waits for another program that has just made the file, and has not put it into WAL mode', async (t) => {
    using file = newFile()
    using other = new DatabaseSync(file.path)
    other.exec('BEGIN IMMEDIATE; CREATE TABLE theirs (id)')
    using database = new DatabaseSync(file.path)
    t.mock.timers.enable({ apis: ['Date'] })
    const wait = t.mock.method(Atomics, 'wait', () => {
      t.mock.timers.tick(500)
      assert.notEqual(wait.mock.callCount(), 10, 'it waits for ever')
    })
    assert.throws(() => makeDurable(database), /locked/)
    wait.mock.mockImplementation(() => other.exec('COMMIT'))
    makeDurable(database)
    assert.equal(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal')
  })

  it('refuses a file of an earlier version while another process keeps it from being updated', async () => {
    using file = newFile()
    copyFileSync(join(import.meta.dirname, '../earlier-schemas/sqlite-1.db'), file.path)
    using other = new DatabaseSync(file.path)
    other.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE')
    assert.match(
      await messageOf(file.path),
      /another process keeps it locked, or its file system has no locks/,
    )
  })

  for (const [journal, sql, says] of [
    ['wal', 'CREATE TABLE books (isbn TEXT); PRAGMA user_version = 99', /\b99\b.*up to 6\b/],
    ['delete', 'CREATE TABLE notes (text TEXT)', /another program/],
    ['wal', 'CREATE TABLE books (id, title, author, year); PRAGMA user_version = 1', /another program/],
  ] as const)
    it(`refuses a file of a later version or another program and changes nothing: ${journal}, ${sql}`, async () => {
      using file = newFile()
      using database = new DatabaseSync(file.path)
      database.exec(`PRAGMA journal_mode = ${journal}; ${sql}`)
      database.close()
      assert.match(await refusal(file.path), says)
    })

  it('refuses what is no database, a directory in place of the file, and a file in place of its directory', async () => {
    using file = newFile()
    writeFileSync(file.path, 'title,author,year\n'.repeat(1000))
    assert.match(await refusal(file.path), /not a database/)
    rmSync(file.path)
    mkdirSync(file.path)
    assert.ok((await messageOf(file.path)).includes(file.path))
    const path = join(file.directory, 'file/books.db')
    writeFileSync(dirname(path), 'x')
    assert.ok((await messageOf(path)).includes(path))
    assert.equal(readFileSync(dirname(path), 'utf8'), 'x')
  })
})

describe('a message about a file that cannot be opened', () => {
  it('names the file, the nearest directory, the owners, the modes and the user', async () => {
    using file = newFile()
    await (await openFile(file.path)).close()
    chmodSync(file.path, 0o444)
    chmodSync(file.directory, 0o555)
    // The superuser may do everything.
    const isSuperuser = process.geteuid?.() === 0
    if (isSuperuser) process.seteuid?.(65534)
    using restoring = new DisposableStack()
    restoring.defer(() => {
      if (isSuperuser) process.seteuid?.(0)
      chmodSync(file.directory, 0o700)
    })
    const described = (mode: string) => String.raw`\(owner \d+:\d+, mode ${mode}(?:, not writable: \w+)?\)`
    const all = `${file.path} ${described('444')}, ${file.directory} ${described('555')}`
    const readOnly = `: attempt to write a readonly database; ${all}; this process runs as \\d+:\\d+$`
    assert.match(await messageOf(file.path), new RegExp(readOnly))
    const message = await messageOf(join(file.directory, 'a/b/books.db'))
    assert.match(message, /EACCES: permission denied, mkdir '\S+\/a'; \S+ \(owner /)
  })

  it('names what a link leads to where nothing is, as on a disk that is not mounted, and the check says so, too', async () => {
    using file = newFile()
    const above = join(file.directory, 'mnt')
    const target = join(above, 'disk/books.db')
    mkdirSync(above)
    symlinkSync(target, file.path)
    const message = await messageOf(file.path)
    assert.ok(
      message.includes(`${file.path} (a link to ${target}, which does not exist), ${above} (`),
      message,
    )
    assert.ok(message.endsWith(whyNotCreatable(file.path) ?? assert.fail()))
    mkdirSync(dirname(target))
    assert.equal(whyNotCreatable(file.path), undefined)
  })

  it('names the file system, or the disk, where it is probably the reason', () => {
    const problemOf = (errcode: number) =>
      describeProblem(Object.assign(new Error('x'), { errcode }), '/mnt/books.db')
    // PROTOCOL, NOLFS, and IOERR_UNLOCK, _RDLOCK, _BLOCKED, _CHECKRESERVEDLOCK, _LOCK, _SHMOPEN, _SHMLOCK, _SHMMAP.
    for (const errcode of [15, 22, 2058, 2314, 2826, 3594, 3850, 4618, 5130, 5386])
      assert.match(
        problemOf(errcode),
        /^; the file system of \/mnt\/books\.db probably has no locks .*NFS, SMB and FUSE/,
      )
    // IOERR_SHMSIZE.
    assert.equal(problemOf(4874), '; the disk of /mnt/books.db is probably full')
    // CORRUPT, IOERR_READ.
    for (const errcode of [11, 266]) assert.equal(problemOf(errcode), '')
  })

  it('says how to read a file that has a log, but no shared memory, where none can be made', () => {
    using file = newFile()
    const denied = Object.assign(new Error('x'), { errcode: 14 })
    const advice = /; to read it, copy it with its -wal to a directory that you may write$/
    assert.doesNotMatch(describeProblem(denied, file.path), advice)
    writeFileSync(`${file.path}-wal`, '')
    assert.match(describeProblem(denied, file.path), advice)
    writeFileSync(`${file.path}-shm`, '')
    assert.doesNotMatch(describeProblem(denied, file.path), advice)
  })
})

/** Opens a file that must be refused, and checks that it and its directory stay as they were. */
async function refusal(path: string): Promise<string> {
  const before = { files: readdirSync(dirname(path)), bytes: readFileSync(path) }
  const message = await messageOf(path)
  assert.deepEqual(readdirSync(dirname(path)), before.files)
  assert.ok(readFileSync(path).equals(before.bytes), 'the file was changed')
  return message
}

/** Why a file is refused, in one line. */
async function messageOf(path: string): Promise<string> {
  const error = await openFile(path).then(
    () => assert.fail('it was opened'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof StoreNotOpened)
  assert.match(error.message, /^.+$/)
  return error.message
}
