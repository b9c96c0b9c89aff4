import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { STREAM_PAGE } from '../../../src/catalogue/page.ts'
import { ALL_BOOKS, BY_ID } from '../../../src/catalogue/query.ts'
import { openBookReader, SharedReadTransaction } from '../../../src/store/sqlite/book-reader.ts'
import { makeDurable, openConnection } from '../../../src/store/sqlite/connection.ts'
import { openSqlite, prepareSqlite } from '../../../src/store/sqlite/store.ts'
import { ResponseCount } from '../../../src/store/sqlite/threads.ts'
import { booksOf, listAll } from '../pages.ts'
import { newFile, openFile } from './file.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** Texts of so many characters: a page has room for one book. */
const LENGTH = 300_000

/** SQLite's default. */
const PAGE_SIZE = 4096

it('does not read the books that its page has no room for', async () => {
  using file = newFile()
  const first = await openFile(file.path)
  for (let i = 0; i < 20; i++) await first.create({ ...BOOK, title: 'x'.repeat(LENGTH) })
  await first.count({ words: ['x'] })
  await first.close()
  // Damages the pages that have nothing but texts of the others.
  const bytes = readFileSync(file.path)
  for (let at = Math.ceil((1.5 * LENGTH) / PAGE_SIZE) * PAGE_SIZE; at < bytes.length; at += PAGE_SIZE)
    if (/^x+$/.test(bytes.toString('latin1', at + 4, at + PAGE_SIZE))) bytes.fill(0xff, at, at + PAGE_SIZE)
  writeFileSync(file.path, bytes)
  const store = await openFile(file.path)
  const page = await store.page(ALL_BOOKS, undefined, STREAM_PAGE)
  assert.deepEqual([page.count, page.more, booksOf(page)[0]?.title.length], [1, true, LENGTH])
  await assert.rejects(listAll(store), /malformed/)
  await store.close()
})

it('reads pages in the order of ids, and leaves long ones and others to the threads for queries', async () => {
  using file = newFile()
  const store = await openFile(file.path)
  for (const title of ['One', 'Two', 'x'.repeat(LENGTH), 'Four']) await store.create({ ...BOOK, title })
  const reader = openBookReader(file.path, new ResponseCount())
  const page = (after: number, books: number, text = 2 * LENGTH) => {
    const found = reader.page(ALL_BOOKS, [after], { books, text })
    return found && [booksOf(found).map(({ id }) => id), found.last, found.more]
  }
  assert.deepEqual(page(0, 1), [[1], [1], true])
  assert.deepEqual(page(0, 2), [[1, 2], [2], true])
  assert.deepEqual(page(3, 1), [[4], [4], false])
  assert.deepEqual(page(3, 9), [[4], [4], false])
  assert.deepEqual(page(4, 1), [[], undefined, false])
  assert.equal(page(0, 3), undefined)
  assert.deepEqual(page(0, 3, 8), [[1, 2], [2], true])
  assert.deepEqual(page(0, 2, 4), [[1], [1], true])
  assert.deepEqual(page(2, 2, 4), [[3], [3], true])
  const bounds = { books: 1, text: LENGTH }
  for (const query of [
    { filter: { year: 1 }, order: BY_ID },
    { filter: {}, order: 'relevance' },
    { filter: {}, order: [{ name: 'id', descending: true }] },
    { filter: {}, order: [{ name: 'year', descending: false }, ...BY_ID] },
  ] as const)
    assert.equal(reader.page(query, undefined, bounds), undefined)
  await reader.close()
  await store.close()
})

describe('a snapshot of a database', () => {
  let file: ReturnType<typeof newFile>
  let [reading, writing]: DatabaseSync[] = []

  beforeEach(() => {
    file = newFile()
    writing = openConnection(file.path)
    makeDurable(writing)
    writing.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)')
    reading = openConnection(file.path)
  })

  afterEach(() => {
    if (reading?.isOpen) reading.close()
    writing?.close()
    file[Symbol.dispose]()
  })

  const read = () => reading?.prepare('SELECT x FROM t').get()?.x
  const begin = () => {
    const responses = new ResponseCount()
    const snapshot = new SharedReadTransaction(reading as DatabaseSync, responses)
    snapshot.begin()
    return { snapshot, responses }
  }

  it('shows the same until a response of any thread is counted', () => {
    const { snapshot, responses } = begin()
    assert.equal(read(), 1)
    writing?.exec('UPDATE t SET x = 2')
    snapshot.begin()
    assert.equal(read(), 1)
    new ResponseCount(responses.memory).add()
    snapshot.begin()
    assert.equal(read(), 2)
    writing?.exec('UPDATE t SET x = 3')
    snapshot.begin()
    assert.equal(read(), 2)
  })

  it('ends with the turn of the event loop', async () => {
    begin()
    assert.equal(read(), 1)
    writing?.exec('UPDATE t SET x = 2')
    await setImmediate()
    assert.equal(read(), 2)
    assert.equal(reading?.isTransaction, false)
  })

  it('may have been ended by an error, or by closing its connection', async () => {
    const { snapshot, responses } = begin()
    read()
    reading?.exec('ROLLBACK')
    responses.add()
    snapshot.begin()
    assert.equal(reading?.isTransaction, true)
    reading?.close()
    await setImmediate()
  })
})

it('begins anew after every response of a store that shares its count', async () => {
  using file = newFile()
  const threads = prepareSqlite(file.path, () => {})
  const responses = new ResponseCount()
  const connect = threads.connect.bind(threads)
  const store = openSqlite({ path: file.path, connect, responses, threads: 2, end: () => threads.close() })
  async function* books() {
    yield [BOOK]
  }
  const byYear = { filter: {}, order: [{ name: 'year', descending: false }, ...BY_ID] } as const
  for (const [name, request] of Object.entries({
    create: () => store.create(BOOK),
    update: () => store.update(1, { year: 2 }),
    page: () => store.page(byYear, undefined, STREAM_PAGE),
    count: () => store.count({}),
    statistics: () => store.statistics({}),
    import: () => store.import(books()),
    delete: () => store.delete(1),
    'update of no book': () => store.update(1, { year: 2 }),
  })) {
    const before = responses.get()
    await request()
    assert.ok(responses.get() > before, name)
  }
  await store.close()
})
