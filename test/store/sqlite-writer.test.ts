import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Book } from '../../src/book.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { logIn } from '../support/client.ts'
import { startService } from '../support/service.ts'
import { listAll } from './pages.ts'
import { newFile, openFile } from './sqlite-file.ts'

/** What may wait behind the batch that is being committed: writes, and characters of their text. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

const MIB = 1024 * 1024

/** A test that takes as long as this hangs, in milliseconds. */
const timeout = 60_000

let file: ReturnType<typeof newFile>
let store: Store
let closed: boolean
/** The newest writer thread of this process, and how many there were. */
let thread: Worker
let threads: number

const note = (worker: Worker) => {
  thread = worker
  threads++
}

beforeEach(async () => {
  threads = 0
  closed = false
  process.on('worker', note)
  file = newFile()
  store = await openFile(file.path)
  // The thread has begun its work when a write is answered.
  await store.update(1, {})
})
afterEach(async () => {
  if (!closed) await store.close()
  process.off('worker', note)
  file[Symbol.dispose]()
})

const create = (title: string) => store.create({ title, author: 'A', year: 1 })
const titlesOf = (books: readonly Book[]) => books.map(({ title }) => title).toSorted()
const numbered = (count: number, prefix = '') => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

/** Another connection that holds the write lock until it is released. */
function lock(): Disposable {
  const other = new DatabaseSync(file.path)
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

/** Counts the commits in the write-ahead log (sqlite.org/fileformat2.html §4). */
function commits(): number {
  const log = readFileSync(`${file.path}-wal`)
  let count = 0
  // A frame that commits has a size of the database.
  for (let at = 32; at < log.length; at += 24 + 4096) if (log.readUInt32BE(at + 4) > 0) count++
  return count
}

/** A reader because of which SQLite does not begin its log anew. */
function keepLog(): Disposable {
  const other = new DatabaseSync(file.path)
  other.exec('BEGIN; SELECT * FROM books')
  return { [Symbol.dispose]: () => other.close() }
}

describe('writes to SQLite that arrive together', { timeout }, () => {
  it('share commits, while those that wait for one another have one each', async () => {
    using _log = keepLog()
    const before = commits()
    for (const title of numbered(20)) await create(title)
    assert.equal(commits() - before, 20)
    await Promise.all(numbered(1000).map(create))
    const shared = commits() - before - 20
    assert.ok(shared <= 10, `${shared} commits for 1000 writes`)
  })

  it('share commits when many clients each wait for their own', async () => {
    using _log = keepLog()
    const before = commits()
    const clients = numbered(50).map(async (client) => {
      for (const title of numbered(10, `${client} `)) await create(title)
    })
    await Promise.all(clients)
    const shared = commits() - before
    assert.ok(shared <= 125, `${shared} commits for 500 writes`)
  })

  it('are all stored, each once and with its own answer', async () => {
    const titles = numbered(5000)
    const created = await Promise.all(titles.map(create))
    assert.deepEqual(
      created.map(({ title }) => title),
      titles,
    )
    assert.deepEqual(
      await listAll(store),
      created.toSorted((a, b) => a.id - b.id),
    )
  })

  it('do not keep one that comes alone waiting for company', async () => {
    const times: number[] = []
    using other = new DatabaseSync(join(file.directory, 'other.db'))
    other.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x)')
    const commit = other.prepare('INSERT INTO t VALUES (1)')
    const direct: number[] = []
    for (const title of numbered(30)) {
      const start = performance.now()
      await create(title)
      times.push(performance.now() - start)
      const startDirect = performance.now()
      commit.run()
      direct.push(performance.now() - startDirect)
    }
    const [fastest, disk] = [Math.min(...times), Math.min(...direct)]
    assert.ok(fastest < disk + 5, `${fastest} ms, of which the disk needs ${disk} ms`)
  })
})

describe('reads of SQLite', { timeout }, () => {
  it('see every write that was answered, whoever else reads and writes', async () => {
    const clients = numbered(40).map(async (client) => {
      for (const title of numbered(10, `${client} `)) {
        const { id } = await create(title)
        assert.deepEqual({ ...(await store.find(id)) }, { id, title, author: 'A', year: 1 })
        await store.update(id, { year: 2 })
        const listed = (await listAll(store)).find((book) => book.id === id)
        assert.deepEqual(listed, { id, title, author: 'A', year: 2 })
        if (id % 2 === 0) continue
        assert.equal(await store.delete(id), true)
        assert.equal(await store.find(id), undefined)
        assert.ok((await listAll(store)).every((book) => book.id !== id))
      }
    })
    await Promise.all(clients)
  })

  it('never wait while the writer does', async () => {
    const { id } = await create('kept')
    let settled = false
    const blocked = lock()
    const write = create('late').finally(() => {
      settled = true
    })
    await handedOver()
    for (let i = 0; i < 100; i++) {
      assert.equal((await store.find(id))?.title, 'kept')
      assert.deepEqual(titlesOf(await listAll(store)), ['kept'])
      await setImmediate()
    }
    assert.equal(settled, false, 'the reads were answered while the write waited')
    blocked[Symbol.dispose]()
    await write
  })
})

describe('writes to SQLite that have to wait', { timeout }, () => {
  for (const [what, text, accepted] of [
    ['writes', '', MAX_WAITING],
    ['characters', 'x'.repeat(MIB - 10), MAX_WAITING_TEXT / MIB],
  ] as const) {
    it(`are bounded in ${what}: more is refused at once, and nothing else is lost`, async () => {
      const blocked = lock()
      const first = create('first')
      await handedOver()
      const refused: string[] = []
      const titles = Array.from({ length: accepted * 2 }, (_, i) => String(i).padStart(9, '0') + text)
      const writes = titles.map((title) =>
        create(title).then(
          () => title,
          (error) => {
            assert.ok(error instanceof StoreUnavailable)
            refused.push(title)
          },
        ),
      )
      await setImmediate()
      assert.equal(refused.length, accepted)
      blocked[Symbol.dispose]()
      const stored = (await Promise.all([...writes, first.then(({ title }) => title)])).filter(
        (title) => title !== undefined,
      )
      assert.equal(refused.length, accepted)
      assert.deepEqual(titlesOf(await listAll(store)), stored.toSorted())
      await create('there is room again')
    })
  }
})

describe('when the thread that writes dies', { timeout }, () => {
  /** Settles the writes and checks that each was stored once, or refused and stored once or not at all. */
  async function assertSettled(
    writes: Map<string, Promise<Book>>,
  ): Promise<{ stored: number; lost: number }> {
    const results = await Promise.allSettled(writes.values())
    const books = Map.groupBy(await listAll(store), ({ title }) => title)
    const count = { stored: 0, lost: 0 }
    for (const [i, title] of [...writes.keys()].entries()) {
      const result = results[i]
      const found = books.get(title) ?? []
      if (result?.status === 'fulfilled') {
        assert.deepEqual(found, [{ ...result.value }])
        count.stored++
      } else {
        assert.ok(result?.reason instanceof StoreUnavailable, String(result?.reason))
        assert.ok(found.length <= 1, `${title} was stored ${found.length} times`)
        count.lost++
      }
    }
    return count
  }

  const createAll = (titles: string[]) => new Map(titles.map((title) => [title, create(title)]))

  it('while idle, the next write works', async () => {
    for (const title of numbered(3)) {
      await thread.terminate()
      await create(title)
    }
    assert.deepEqual(titlesOf(await listAll(store)), numbered(3))
    assert.equal(threads, 4)
  })

  it('in the middle of a batch, its writes are refused and not tried again, and those behind it are stored', async () => {
    const blocked = lock()
    const batch = createAll(numbered(100, 'lost '))
    await handedOver()
    const behind = createAll(numbered(100, 'stored '))
    const death = thread.terminate()
    blocked[Symbol.dispose]()
    await death
    assert.deepEqual(await assertSettled(batch), { stored: 0, lost: 100 })
    assert.deepEqual(await assertSettled(behind), { stored: 100, lost: 0 })
    assert.equal((await listAll(store)).length, 100)
  })

  it('after a commit that it has not told of, nothing is stored twice', async () => {
    // More than a thousand pages: after such a commit SQLite is busy with its log before the thread can answer.
    const writes = createAll(numbered(30, 'x'.repeat(MIB)))
    using other = new DatabaseSync(file.path)
    const any = other.prepare('SELECT 1 FROM books LIMIT 1')
    await setImmediate()
    const deadline = Date.now() + timeout
    while (any.get() === undefined) assert.ok(Date.now() < deadline)
    await thread.terminate()
    await assertSettled(writes)
    assert.equal((await listAll(store)).length, writes.size)
    await create('later')
  })

  it('again and again at any moment, each write is stored or refused, and none twice', async () => {
    const total = { stored: 0, lost: 0 }
    for (let round = 0; round < 40; round++) {
      const writes = createAll(numbered(100, `${round} `))
      await setTimeout(round % 8)
      const death = thread.terminate()
      for (const [title, write] of createAll(numbered(20, `${round} later `))) writes.set(title, write)
      await death
      const { stored, lost } = await assertSettled(writes)
      total.stored += stored
      total.lost += lost
      await create(`${round} last`)
    }
    assert.ok(total.stored > 0 && total.lost > 0, JSON.stringify(total))
  })

  it('of an error of its own, the cause is told', async () => {
    const blocked = lock()
    const writes = createAll(numbered(10))
    await handedOver()
    thread.postMessage('no batch of writes')
    const behind = create('behind')
    blocked[Symbol.dispose]()
    assert.deepEqual(await assertSettled(writes), { stored: 10, lost: 0 })
    await assert.rejects(
      behind,
      (error) => error instanceof StoreUnavailable && /function/.test(error.message),
    )
    await create('later')
  })

  it('because the file is not to be opened, writes are refused until it is', async () => {
    await create('before')
    await thread.terminate()
    renameSync(file.path, `${file.path}.away`)
    mkdirSync(file.path)
    for (let i = 0; i < 3; i++) {
      await assert.rejects(
        create('refused'),
        (error) => error instanceof StoreUnavailable && /unable to open/.test(error.message),
      )
    }
    rmdirSync(file.path)
    renameSync(`${file.path}.away`, file.path)
    await create('after')
    assert.deepEqual(titlesOf(await listAll(store)), ['after', 'before'])
  })
})

describe('closing the SQLite store', { timeout }, () => {
  it('commits what is waiting', async () => {
    const writes = numbered(500).map(create)
    await handedOver()
    writes.push(...numbered(500, 'more ').map(create))
    const books = await booksAfterClose()
    assert.deepEqual(
      books.map((book) => ({ ...book })),
      await Promise.all(writes),
    )
  })

  it('works when the thread has died', async () => {
    await create('kept')
    await thread.terminate()
    assert.deepEqual(titlesOf(await booksAfterClose()), ['kept'])
  })

  it('works while the thread dies', async () => {
    await create('kept')
    const death = thread.terminate()
    assert.deepEqual(titlesOf(await booksAfterClose()), ['kept'])
    await death
  })

  it('works while the thread dies of an error', async () => {
    await create('kept')
    thread.postMessage('no batch of writes')
    assert.deepEqual(titlesOf(await booksAfterClose()), ['kept'])
  })

  it('commits what is waiting behind a batch in which the thread dies', async () => {
    const blocked = lock()
    const lost = create('lost')
    await handedOver()
    const kept = create('kept')
    const refusal = assert.rejects(lost, StoreUnavailable)
    const death = thread.terminate()
    const books = booksAfterClose()
    blocked[Symbol.dispose]()
    assert.deepEqual(titlesOf(await books), ['kept'])
    await Promise.all([refusal, kept, death])
  })
})

describe('the service whose writer thread dies', { timeout }, () => {
  /** Lets a signal end the newest thread, and says so. */
  const TERMINATOR = `data:text/javascript,${encodeURIComponent(`
    process.on('worker', (worker) =>
      process.once('SIGUSR2', () => {
        worker.terminate()
        process.stdout.write('terminated;')
      }))`)}`

  it('answers 503 with Retry-After, has the cause in the log, and writes again', async (t) => {
    const service = await startService(file.directory, {}, ['--import', TERMINATOR])
    t.after(() => service.stop())
    const headers = { authorization: await logIn(service.url) }
    const post = (title: string) =>
      fetch(`${service.url}/book`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ title, author: 'A', year: 1 }),
      })
    assert.equal((await post('before')).status, 201)

    const blocked = lock()
    const answers = numbered(20).map(async (title) => ({ title, response: await post(title) }))
    await setTimeout(200)
    service.process.kill('SIGUSR2')
    while (!service.output().includes('terminated;')) await setTimeout(5)
    blocked[Symbol.dispose]()
    const stored = ['before']
    let lost = 0
    for (const { title, response } of await Promise.all(answers)) {
      if (response.status === 201) {
        stored.push(title)
        continue
      }
      lost++
      assert.equal(response.status, 503)
      assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
      assert.deepEqual(await response.json(), { status: 503, message: 'Service unavailable', data: null })
    }
    assert.ok(lost > 0)
    assert.equal((await post('after')).status, 201)
    assert.deepEqual(titlesOf(await listAll(store)), [...stored, 'after'].toSorted())
    await service.stop()
    assert.equal(service.output().match(/"level":50.*writer thread died.*it was terminated/g)?.length, lost)
  })
})
