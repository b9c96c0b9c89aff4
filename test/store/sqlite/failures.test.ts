import assert from 'node:assert/strict'
import { closeSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import type { Book } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { backupSqlite, restoreSqlite } from '../../../src/store/sqlite/backup.ts'
import { openConnection } from '../../../src/store/sqlite/connection.ts'
import { lockForService } from '../../../src/store/sqlite/service-lock.ts'
import { booksOf, inGroups, listAll, listPages } from '../pages.ts'
import { newFile, openedFile, openFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** SQLite's default. */
const PAGE_SIZE = 4096

/** Books enough for a file of hundreds of pages, and for a list of several before its middle. */
const BOOKS = Array.from({ length: 1500 }, (_, year) => ({ title: 'x'.repeat(1000), author: 'A', year }))

/**
 * Overwrites a quarter in the middle of a database file that nothing has open: where the books are, not the schema
 * nor the root of the table.
 */
function damageMiddle(path: string): void {
  const pages = statSync(path).size / PAGE_SIZE
  const first = Math.floor(pages / 2)
  const count = Math.floor(pages / 4)
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(count * PAGE_SIZE, 0xff), 0, count * PAGE_SIZE, first * PAGE_SIZE)
  closeSync(file)
}

it('while another process holds the write lock, writes fail and never happen, and reads go on', async () => {
  await using file = await openedFile()
  const { store } = file
  const { id } = await store.create(BOOK)
  using other = openConnection(file.path)
  other.exec('BEGIN IMMEDIATE; UPDATE books SET year = 2')
  const writes = [store.update(id, { year: 2 }), store.create(BOOK), store.create(BOOK), store.delete(id)]
  const results = Promise.allSettled(writes)
  assert.deepEqual({ ...(await store.find(id)) }, { id, ...BOOK })
  for (const write of await results) {
    assert.ok(write.status === 'rejected' && write.reason instanceof StoreUnavailable)
    const { cause, reason, nothingWritten } = write.reason
    assert.deepEqual([cause instanceof Error, reason, nothingWritten], [true, 'conflict', true])
  }
  assert.deepEqual(await listAll(store), [{ id, ...BOOK }])
  other.exec('ROLLBACK')
  // Anybody may ask whether it is ready. That writes nothing, although writes were refused.
  const version = () => other.prepare('PRAGMA data_version').get()?.data_version
  await store.count({ year: 1 })
  const before = version()
  await store.ready()
  assert.equal(version(), before)
  const { id: next } = await store.create(BOOK)
  assert.deepEqual(await listAll(store), [
    { id, ...BOOK },
    { id: next, ...BOOK },
  ])
  other.exec('DROP TABLE books')
  // Then later reads see it.
  await assert.rejects(store.create(BOOK), /no such table/)
  await assert.rejects(store.ready(), /no such table/)
})

it('a damaged file fails a list after the pages before the damage, whatever needs a lost book, and a backup, which leaves nothing behind', async () => {
  using file = newFile()
  const whole = await openFile(file.path)
  await whole.import(inGroups(BOOKS))
  await whole.close()
  damageMiddle(file.path)
  const store = await openFile(file.path)
  const found: Book[] = []
  let pages = 0
  await assert.rejects(async () => {
    for await (const page of listPages(store)) {
      found.push(...booksOf(page))
      pages++
    }
  }, isDamage)
  assert.ok(pages > 1 && found.length < BOOKS.length, `${pages} pages`)
  assert.deepEqual(
    found.map(({ year }) => year),
    [...found.keys()],
  )
  const lost = Math.floor(BOOKS.length * 0.6)
  await assert.rejects(() => store.find(lost), isDamage)
  await assert.rejects(() => store.update(lost, { year: 1 }), isDamage)
  await assert.rejects(() => store.delete(lost), isDamage)
  for (const id of [1, BOOKS.length]) assert.equal((await store.find(id))?.year, id - 1)
  await store.close()
  const { signal } = new AbortController()
  const backup = backupSqlite(file.path, join(file.directory, 'copy.db'), () => {}, signal)
  await assert.rejects(backup, /fails its integrity check/)
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})

it('a backup that is interrupted between its steps, of which it tells, leaves nothing behind', async () => {
  using file = newFile()
  const database = new DatabaseSync(file.path)
  database.exec('CREATE TABLE large AS SELECT zeroblob(10000000) AS x')
  database.close()
  const interruption = new AbortController()
  const steps: number[] = []
  const interrupt = (copied: number, total: number) => {
    steps.push(copied / total)
    interruption.abort(new Error('interrupted'))
  }
  const backup = backupSqlite(file.path, join(file.directory, 'copy.db'), interrupt, interruption.signal)
  await assert.rejects(backup, /interrupted/)
  assert.ok(steps.length > 0 && steps.every((part) => part > 0 && part < 1), `${steps}`)
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})

/** A catalogue whose copy takes several steps. */
async function makeLarge(path: string): Promise<void> {
  const store = await openFile(path)
  await store.import(inGroups(BOOKS.map((book) => ({ ...book, title: 'x'.repeat(4000) }))))
  await store.close()
}

it('a backup has the books of when it began, and does not begin again with each write', async () => {
  using file = newFile()
  await makeLarge(file.path)
  using other = openConnection(file.path)
  const interruption = new AbortController()
  let steps = 0
  const write = () => {
    other.exec("INSERT INTO books (title, author, year) VALUES ('later', 'A', 1)")
    if (++steps === 10) interruption.abort(new Error('it has begun again'))
  }
  const path = join(file.directory, 'copy.db')
  await backupSqlite(file.path, path, write, interruption.signal)
  assert.notEqual(steps, 0)
  using copy = openConnection(path)
  assert.equal(copy.prepare('SELECT count(*) AS books FROM books').get()?.books, BOOKS.length)
})

it('a restoration keeps services off the database, and is refused if another program has opened it meanwhile', async () => {
  using file = newFile()
  await makeLarge(file.path)
  const path = join(file.directory, 'restored.db')
  const open = () => {
    assert.ok(lockForService(path).isTaken)
    writeFileSync(`${path}-wal`, '')
  }
  const { signal } = new AbortController()
  await assert.rejects(
    restoreSqlite(file.path, path, open, signal),
    /there is .*restored\.db-wal: a program is/,
  )
  assert.deepEqual(readdirSync(file.directory), ['books.db', 'restored.db-wal'])
  assert.ok(!lockForService(join(path, 'no-directory.db')).isTaken)
})

it('a backup or a restoration that is interrupted during the check of the copy changes nothing', async () => {
  using file = newFile()
  await (await openFile(file.path)).close()
  const copy = join(file.directory, 'copy.db')
  const interruption = new AbortController()
  // A signal arrives after the check. There is no progress of so few pages, so nothing sees it before.
  interruption.abort(new Error('interrupted'))
  for (const write of [backupSqlite, restoreSqlite])
    await assert.rejects(
      write(file.path, copy, () => {}, interruption.signal),
      /interrupted/,
    )
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
})

/** Not StoreUnavailable: trying again does not help. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && !(error instanceof StoreUnavailable) && /malformed/.test(error.message)
}
