import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { type Store, StoreNotOpened } from '../../../src/catalogue/store.ts'
import { describeProblem } from '../../../src/store/sqlite/errors.ts'
import { newFile, openFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

describe('opening an SQLite file', () => {
  it('makes the directories above it, and is the only file left after close', async () => {
    using file = newFile()
    const path = join(file.directory, 'a/b/c/books.db')
    await (await openFile(path)).close()
    // An empty file is a new one, too.
    writeFileSync(path, '')
    const store = await openFile(path)
    assert.equal((await store.create(BOOK)).id, 1)
    await store.close()
    assert.deepEqual(readdirSync(dirname(path)), ['books.db'])
  })

  for (const path of ['file::memory:', 'file:a%2fb']) {
    it(`keeps its books in a file of that name, or refuses it: ${path}`, async (t) => {
      using file = newFile()
      const cwd = process.cwd()
      t.after(() => process.chdir(cwd))
      process.chdir(file.directory)
      let store: Store
      try {
        store = await openFile(path)
      } catch (error) {
        assert.ok(isOneLine(error, Error))
        return
      }
      await store.create(BOOK)
      await store.close()
      assert.deepEqual(readdirSync(file.directory), [path])
    })
  }

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

  it('refuses a file of an earlier version while another process keeps it from being updated', async () => {
    using file = newFile()
    copyFileSync(join(import.meta.dirname, '../earlier-schemas/sqlite-1.db'), file.path)
    using other = new DatabaseSync(file.path)
    other.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE')
    await assert.rejects(openFile(file.path), (error) => isOneLine(error, StoreNotOpened))
  })

  for (const [journal, sql, says] of [
    ['wal', 'CREATE TABLE books (isbn TEXT); PRAGMA user_version = 99', /\b99\b.*up to 6\b/],
    ['wal', 'CREATE TABLE books (isbn TEXT); INSERT INTO books VALUES (1)', /another program/],
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
  /** The superuser may do everything. */
  async function refusedToNobody(directory: string, path: string): Promise<string> {
    const user = process.geteuid?.()
    if (user === 0) process.seteuid?.(65534)
    try {
      return await messageOf(path)
    } finally {
      if (user === 0) process.seteuid?.(0)
      chmodSync(directory, 0o700)
    }
  }

  it('names the file, its directory, the owners, the modes and the user', async () => {
    using file = newFile()
    await (await openFile(file.path)).close()
    chmodSync(file.path, 0o444)
    chmodSync(file.directory, 0o777)
    const { uid, gid } = statSync(file.directory)
    const described = (path: string, mode: string) =>
      `${path} \\(owner ${uid}:${gid}, mode ${mode}(?:, not writable: \\w+)?\\)`
    // SQLite has made the files beside it before it knows that it may not write.
    const beside = ['wal', 'shm'].map((name) => `${file.path}-${name} \\(.*\\)`)
    const all = [described(file.path, '444'), ...beside, described(file.directory, '777')].join(', ')
    const message = await refusedToNobody(file.directory, file.path)
    const user = process.geteuid?.() === 0 ? 65534 : process.geteuid?.()
    const reason = 'attempt to write a readonly database'
    assert.match(message, new RegExp(`: ${reason}; ${all}; this process runs as ${user}:\\d+$`))
  })

  it('names the nearest directory if one cannot be made', async () => {
    using file = newFile()
    chmodSync(file.directory, 0o555)
    const message = await refusedToNobody(file.directory, join(file.directory, 'a/b/books.db'))
    assert.ok(
      message.includes(`EACCES: permission denied, mkdir '${file.directory}/a'; ${file.directory} (owner `),
    )
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
    // CORRUPT.
    assert.equal(problemOf(11), '')
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

/** Why a file is refused. */
async function messageOf(path: string): Promise<string> {
  let message = ''
  await assert.rejects(
    () => openFile(path),
    (error) => {
      if (!isOneLine(error, StoreNotOpened)) return false
      message = error.message
      return true
    },
  )
  return message
}

function isOneLine<T extends Error>(error: unknown, kind: new (...args: never[]) => T): error is T {
  return error instanceof kind && error.message !== '' && !error.message.includes('\n')
}
