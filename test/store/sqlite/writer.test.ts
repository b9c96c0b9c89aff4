import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Book } from '../../../src/catalogue/book.ts'
import { type Store, StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import { identityOf, openConnection } from '../../../src/store/sqlite/connection.ts'
import { importIntoSqlite } from '../../../src/store/sqlite/import.ts'
import { UNINDEXED } from '../../../src/store/sqlite/schema.ts'
import { openSqlite, prepareSqlite } from '../../../src/store/sqlite/store.ts'
import { ResponseCount, ThreadClient } from '../../../src/store/sqlite/threads.ts'
import type { WriterFunctions } from '../../../src/store/sqlite/writer-thread.ts'
import { logIn } from '../../support/client.ts'
import { startService } from '../../support/service.ts'
import { inGroups, listAll, plain } from '../pages.ts'
import { newFile, openFile } from './file.ts'

const MIB = 1024 * 1024

/** Enough that the system very likely gives every thread some of them. */
const CLIENTS = 32

let file: ReturnType<typeof newFile>
let store: Store
let closed: boolean
/** The newest thread of this process: the writer, unless the test imports. */
let thread: Worker
/** How many writes each commit had. */
let commits: number[]

const note = (worker: Worker) => {
  thread = worker
}

const COMMITS = 'book-catalogue.group-commit'
const noteCommit = (writes: unknown) => void commits.push(Number(writes))

/** Each test has a store on a new file, whose writer thread is at work. */
beforeEach(async () => {
  commits = []
  closed = false
  process.on('worker', note)
  subscribe(COMMITS, noteCommit)
  file = newFile()
  store = await openFile(file.path)
  // The thread has begun its work when a write is answered.
  await store.update(1, {})
})

afterEach(async () => {
  if (!closed) await store.close()
  process.off('worker', note)
  unsubscribe(COMMITS, noteCommit)
  file[Symbol.dispose]()
})

const IMPORTED = { title: 'imported', author: 'A', year: 1 }
const create = (title: string) => store.create({ title, author: 'A', year: 1 })
const titlesOf = (books: readonly Book[]) => books.map(({ title }) => title).toSorted()
const numbered = (count: number, prefix = '') => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

/** Another connection that holds the write lock until it is released. */
function lock(): Disposable {
  // The index may be following the last write.
  const other = openConnection(file.path)
  other.exec('BEGIN IMMEDIATE')
  return { [Symbol.dispose]: () => other.close() }
}

/** Until the writes that were made have been handed to the thread. */
const handedOver = () => setTimeout(20)

/** Closes the store, after which nothing but the whole database is left. @returns its books. */
async function booksAfterClose(): Promise<Book[]> {
  closed = true
  await store.close()
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
  using database = new DatabaseSync(file.path, { readOnly: true })
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  return database.prepare('SELECT * FROM books ORDER BY id').all() as unknown as Book[]
}

describe('writes to SQLite', () => {
  it('share commits if they arrive together, while those that wait for one another have one each', async () => {
    /** The thread tells of a commit some time after its response. */
    const told = async (writes: number) => {
      while (commits.reduce((sum, count) => sum + count, 0) < writes) await setImmediate()
    }
    // One write came before the test.
    for (const title of numbered(20)) await create(title)
    await told(21)
    assert.deepEqual(commits, Array(21).fill(1))
    await Promise.all(numbered(1000).map(create))
    await told(1021)
    assert.ok(commits.length <= 31, `${commits.length - 21} commits for 1000 writes`)
  })
})

describe('writes to SQLite that have to wait', () => {
  it('wait while an import takes its last step', async () => {
    const blocked = lock()
    const importing = store.import(inGroups([IMPORTED]))
    await setImmediate()
    // The thread of the import has staged the book.
    await once(thread, 'message')
    await setImmediate()
    const write = create('written')
    await setImmediate()
    assert.deepEqual(store.load(), { writes_waiting: 1, queries_waiting: 0 })
    blocked[Symbol.dispose]()
    assert.deepEqual(await importing, { added: 1, skipped: 0 })
    assert.equal((await write).id, 2)
  })

  it('are indexed after an import, although nobody writes or searches', async () => {
    await store.import(inGroups([IMPORTED]))
    using other = new DatabaseSync(file.path, { readOnly: true, timeout: 60_000 })
    const due = other.prepare(`SELECT count(*) AS books FROM ${UNINDEXED}`)
    while (due.get()?.books !== 0) await setTimeout(10)
  })

  it('store nothing of an import if its last group cannot be staged, or one that has others behind it', async () => {
    // SQLite takes no objects.
    const books = [IMPORTED, { ...IMPORTED, title: {} as string }]
    async function* late() {
      const [importer] = await once(process, 'worker')
      const answered = once(importer, 'message')
      yield books
      await answered
      // An error that nobody has caught would end the process then.
      await setImmediate()
      yield [IMPORTED]
    }
    for (const groups of [inGroups(books, 1), late()])
      await assert.rejects(store.import(groups), /cannot be bound/)
    assert.deepEqual(await listAll(store), [])
  })

  it('are told that an import is done even if the thread that it has paused dies before it hears of it', async () => {
    const call = async (name: string) => {
      if (name === 'resume') throw new StoreUnavailable('the thread died')
    }
    const writer = { call } as unknown as ThreadClient<WriterFunctions>
    const opened = identityOf(file.path)
    const imported = await importIntoSqlite(file.path, opened, inGroups([IMPORTED]), {}, writer)
    assert.deepEqual(imported, { added: 1, skipped: 0 })
  })

  /** Another store of the same file, and clients of its writer. */
  function openOther({ threads = 1 } = {}) {
    const { connect, close: end } = prepareSqlite(file.path, () => {})
    const responses = new ResponseCount()
    return {
      other: openSqlite({ path: file.path, connect, responses, threads, end }),
      newClient: () => new ThreadClient<WriterFunctions>('writer', connect),
    }
  }

  it('wait for the last steps of all imports, and not for one whose thread has died', async () => {
    const { other, newClient } = openOther()
    const clients = [newClient(), newClient(), newClient()] as const
    // The one that dies has two imports.
    for (const client of [...clients, clients[1]]) await client.call('pause')
    let isWritten = false
    const write = other.create({ title: 'T', author: 'A', year: 1 }).then(() => {
      isWritten = true
    })
    await clients[0].call('resume')
    await clients[1].close()
    await other.ready()
    assert.equal(isWritten, false)
    await clients[2].call('resume')
    await write
    for (const client of clients) await client.close()
    await other.close()
  })

  it('do not wait once an import has resumed a thread that replaces the one that it had paused', async () => {
    const { other, newClient } = openOther()
    const client = newClient()
    await client.call('resume')
    await other.create({ title: 'T', author: 'A', year: 1 })
    await client.close()
    await other.close()
  })

  const book = (title: string) => ({ title, author: 'A', year: 1 })
  /** As many characters as fit into a MiB with an author. */
  const text = 'x'.repeat(MIB - 10)
  const [ofBook, half] = [{ id: 1, ...book('') }, 'x'.repeat(MIB / 2)]
  const expected = { ...ofBook, title: half, author: half }

  for (const [what, threads, accepted, write] of [
    ['writes', 4, 5000, (other, i) => other.create(book(`${i}`))],
    ['characters', 4, 32, (other, i) => other.create(book(`${i}`.padStart(9, '0') + text))],
    ['characters of the book that an update expects', 1, 32, (other) => other.update(1, {}, expected)],
    ['characters of the book that a deletion expects', 1, 32, (other) => other.delete(1, expected)],
  ] satisfies [string, number, number, (other: typeof store, i: number) => Promise<unknown>][])
    it(`are bounded in ${what} in each of ${threads} threads: more is refused at once, and nothing else is lost`, async () => {
      const { other, newClient } = openOther({ threads })
      const client = newClient()
      await client.call('pause')
      const room = accepted / threads
      const writes = Array.from({ length: room * 2 }, (_, i) => write(other, i))
      const results = Promise.allSettled(writes)
      await setImmediate()
      await client.call('resume')
      for (const [i, result] of (await results).entries()) {
        assert.equal(result.status, i < room ? 'fulfilled' : 'rejected')
        if (result.status === 'fulfilled') continue
        const { reason } = result
        assert.ok(reason instanceof StoreUnavailable && reason.reason === 'overload' && reason.nothingWritten)
      }
      const stored = what.includes('expects') ? 0 : room
      assert.equal((await listAll(store)).length, stored)
      await other.create(book('there is room again'))
      await client.close()
      await other.close()
    })
})

describe('while the file is missing or another one is in its place', () => {
  const isRefusal = (error: unknown) =>
    error instanceof StoreUnavailable && error.nothingWritten && /put the file back/.test(error.message)
  const away = () => renameSync(file.path, `${file.path}.away`)
  async function* goneAtTheEnd() {
    // So long that it is staged before the next is asked for.
    yield [{ ...IMPORTED, title: 'x'.repeat(MIB) }]
    away()
  }
  for (const [where, replace, recover, titles] of [
    ['missing', () => {}, () => create('after'), ['after', 'before']],
    ['replaced', () => copyFileSync(`${file.path}.away`, file.path), () => store.ready(), ['before']],
  ] as const)
    it(`writes and imports are refused, the store is not ready, and no thread makes a file: ${where}`, async () => {
      await create('before')
      await assert.rejects(store.import(goneAtTheEnd()), isRefusal)
      replace()
      const files = readdirSync(file.directory)
      await assert.rejects(create('refused'), isRefusal)
      await assert.rejects(store.ready(), isRefusal)
      await assert.rejects(store.import(inGroups([IMPORTED])), isRefusal)
      await assert.rejects(store.count({}), StoreUnavailable)
      assert.deepEqual(readdirSync(file.directory), files)
      rmSync(file.path, { force: true })
      renameSync(`${file.path}.away`, file.path)
      await recover()
      // Once it can be written again, the readiness check writes nothing.
      await store.count({ year: 1 })
      const other = openConnection(file.path)
      const version = () => other.prepare('PRAGMA data_version').get()?.data_version
      const before = version()
      await store.ready()
      assert.equal(version(), before)
      other.close()
      assert.deepEqual(titlesOf(await booksAfterClose()), titles)
    })
})

describe('when the thread that writes dies', () => {
  it('in the middle of a batch, its writes and those behind it are refused, and not tried again', async () => {
    const blocked = lock()
    const batch = numbered(100).map(create)
    await handedOver()
    const behind = numbered(100).map(create)
    const results = Promise.allSettled([...batch, ...behind])
    await setImmediate()
    const death = thread.terminate()
    blocked[Symbol.dispose]()
    await death
    for (const result of await results) {
      assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
      assert.equal(result.reason.nothingWritten, false)
    }
    await create('later')
    assert.deepEqual(titlesOf(await listAll(store)), ['later'])
  })

  it('before it has heard of a client, another one serves that, until the file is closed', async () => {
    const { connect, close } = prepareSqlite(file.path, () => {})
    await setImmediate()
    const death = thread.terminate()
    const client = new ThreadClient<WriterFunctions>('writer', connect)
    assert.equal(await client.call('delete', 1, undefined), false)
    await death
    await close()
    await assert.rejects(connect('writer'), /the store is closed/)
  })

  it('because the file is not to be opened, writes are refused until it is', async () => {
    await create('before')
    await thread.terminate()
    renameSync(file.path, `${file.path}.away`)
    mkdirSync(file.path)
    // This thread may not have heard of the death.
    await assert.rejects(create('refused'), StoreUnavailable)
    for (let i = 0; i < 2; i++)
      await assert.rejects(
        create('refused'),
        (error) =>
          error instanceof StoreUnavailable && /was deleted, moved or replaced/.test(describeError(error)),
      )
    rmdirSync(file.path)
    renameSync(`${file.path}.away`, file.path)
    await create('after')
    assert.deepEqual(titlesOf(await listAll(store)), ['after', 'before'])
  })
})

describe('closing the SQLite store', () => {
  it('commits what is waiting', async () => {
    const writes = numbered(500).map(create)
    await handedOver()
    writes.push(...numbered(500, 'more ').map(create))
    assert.deepEqual(plain(await booksAfterClose()), await Promise.all(writes))
  })

  it('waits for imports, also for one that fails', async () => {
    const gate = Promise.withResolvers<void>()
    async function* books() {
      await gate.promise
      yield [IMPORTED]
    }
    async function* noBooks() {
      await gate.promise
      yield* []
      throw new Error('it is cut off')
    }
    const importing = store.import(books())
    const cutOff = assert.rejects(store.import(noBooks()), /it is cut off/)
    const closed = booksAfterClose()
    gate.resolve()
    assert.deepEqual(titlesOf(await closed), ['imported'])
    await Promise.all([importing, cutOff])
  })

  it('works while the thread has died', async () => {
    await create('kept')
    await thread.terminate()
    assert.deepEqual(titlesOf(await booksAfterClose()), ['kept'])
  })
})

/** Lets a signal end the threads that work on the file. */
const TERMINATOR = `data:text/javascript,${encodeURIComponent(`
  const workers = new Set()
  process.on('worker', (worker) => workers.add(worker.on('exit', () => workers.delete(worker))))
  process.on('SIGUSR2', () => {
    for (const worker of workers) if (worker.threadName !== 'http') worker.terminate()
  })`)}`

it('a service whose threads of the file die has the cause in its log, and goes on, on every thread', async (t) => {
  const service = await startService(file.directory, { THREADS: '4' }, ['--import', TERMINATOR])
  t.after(() => service.stop())
  const headers = { authorization: await logIn(service.url) }
  const post = (title: string) => {
    const body = JSON.stringify({ title, author: 'A', year: 1 })
    return fetch(`${service.url}/book`, { method: 'POST', headers, body })
  }
  // A thread may hear of a request before it hears of the death.
  const insist = async (ask: () => Promise<Response>) => {
    let response = await ask()
    while (response.status === 503) response = await ask()
    return response.status
  }
  const searches = ['sort=title', 'q=before'].map((query) => `${service.url}/books?${query}`)
  /** Creates books on all threads, and searches. @returns their titles. */
  async function use(prefix: string): Promise<string[]> {
    const titles = numbered(CLIENTS, prefix)
    const created = await Promise.all(titles.map((title) => insist(() => post(title))))
    assert.deepEqual(new Set(created), new Set([201]))
    for (const url of searches) assert.equal(await insist(() => fetch(url, { headers })), 200)
    return titles
  }
  const before = await use('before ')

  service.process.kill('SIGUSR2')
  while (!/writer thread died/.test(service.output())) await setTimeout(5)
  const after = await use('after ')
  const titles = new Set(titlesOf(await listAll(store)))
  assert.deepEqual(new Set([...before, ...after]).difference(titles), new Set())
  await service.stop()
  assert.match(service.output(), /the writer thread died: it was terminated/)
})
