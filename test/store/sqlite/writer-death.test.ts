import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Book } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import { ThreadClient } from '../../../src/store/sqlite/threads.ts'
import { logIn } from '../../support/client.ts'
import { startService } from '../../support/service.ts'
import { listAll, plain } from '../pages.ts'
import {
  booksAfterClose,
  create,
  file,
  handedOver,
  lock,
  numbered,
  reports,
  store,
  thread,
  threads,
  titlesOf,
  useWriter,
} from './writer-in-use.ts'

const MIB = 1024 * 1024

/** Enough that the system very likely gives every thread some of them. */
const CLIENTS = 32

useWriter()

describe('when the thread that writes dies', () => {
  /** Settles the writes and checks that each was stored once, or refused and stored once or not at all. */
  async function settled(writes: readonly Promise<Book>[]): Promise<{ stored: number; lost: number }> {
    const results = await Promise.allSettled(writes)
    const books = plain(await listAll(store))
    const count = { stored: 0, lost: 0 }
    for (const [i, result] of results.entries()) {
      const found = books.filter(({ year }) => year === i)
      if (result.status === 'fulfilled') assert.deepEqual(found, [{ ...result.value }])
      else assert.ok(result.reason instanceof StoreUnavailable && found.length <= 1, String(result.reason))
      count[result.status === 'fulfilled' ? 'stored' : 'lost']++
    }
    return count
  }

  /** Writes whose years are their numbers. */
  function createMany(count: number, title = 'T'): Promise<Book>[] {
    const writes = Array.from({ length: count }, (_, year) => store.create({ title, author: 'A', year }))
    // They may be refused before they are looked at.
    for (const write of writes) write.catch(() => {})
    return writes
  }

  it('while idle, a later write works', async () => {
    for (const title of ['a', 'b']) {
      await thread.terminate()
      // This thread may not have heard of the death.
      await create(title).catch(() => create(title))
    }
    assert.deepEqual([titlesOf(await listAll(store)), threads], [['a', 'b'], 3])
  })

  it('in the middle of a batch, its writes and those behind it are refused, and not tried again', async () => {
    const blocked = lock()
    const batch = createMany(100)
    await handedOver()
    const behind = createMany(100)
    await setImmediate()
    const death = thread.terminate()
    blocked[Symbol.dispose]()
    await death
    assert.deepEqual(await settled(batch), { stored: 0, lost: 100 })
    assert.deepEqual(await settled(behind), { stored: 0, lost: 100 })
    await create('later')
    assert.equal((await listAll(store)).length, 1)
  })

  it('after a commit that it has not told of, nothing is stored twice', async () => {
    // More than a thousand pages: after such a commit SQLite is busy with its log before the thread can answer.
    const writes = createMany(30, 'x'.repeat(MIB))
    using other = new DatabaseSync(file.path)
    const any = other.prepare('SELECT 1 FROM books LIMIT 1')
    // They are handed over in one turn of this thread, once they were asked for in another.
    for (let turns = 0; turns < 2; turns++) await setImmediate()
    while (any.get() === undefined);
    await thread.terminate()
    await settled(writes)
    assert.equal((await listAll(store)).length, writes.length)
    await create('later')
  })

  it('of an error of its own, the operator is told the cause, once', async () => {
    thread.postMessage(null)
    await assert.rejects(create('behind'), StoreUnavailable)
    await create('later')
    assert.equal(reports.length, 1)
    assert.match(reports[0] ?? '', /^the writer thread died: .*not iterable/)
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
        (error) => error instanceof StoreUnavailable && /unable to open/.test(describeError(error)),
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

  it('waits for an import', async () => {
    const gate = Promise.withResolvers<void>()
    async function* books() {
      await gate.promise
      yield [{ title: 'imported', author: 'A', year: 1 }]
    }
    const importing = store.import(books())
    const closed = booksAfterClose()
    gate.resolve()
    assert.deepEqual(titlesOf(await closed), ['imported'])
    await importing
  })

  for (const [what, die] of [
    ['has died', () => thread.terminate()],
    ['dies', () => void thread.terminate()],
    ['dies of an error', () => thread.postMessage(null)],
  ] as const)
    it(`works while the thread ${what}`, async () => {
      await create('kept')
      await die()
      assert.deepEqual(titlesOf(await booksAfterClose()), ['kept'])
    })

  it('works while a thread cannot be started', async () => {
    const failure = new Error('no thread')
    const client = new ThreadClient<{ index(): void }>('writer', () => Promise.reject(failure))
    const refused = assert.rejects(client.call('index'), failure)
    await client.close()
    await refused
  })

  it('works while the thread dies in the middle of a batch', async () => {
    const blocked = lock()
    const lost = assert.rejects(create('lost'), StoreUnavailable)
    await handedOver()
    const death = thread.terminate()
    const books = booksAfterClose()
    blocked[Symbol.dispose]()
    assert.deepEqual(await books, [])
    await Promise.all([lost, death])
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
  const searches = ['sort=title', 'q=before'].map((query) => `${service.url}/books?${query}`)
  const before = numbered(CLIENTS, 'before ')
  for (const { status } of await Promise.all(before.map(post))) assert.equal(status, 201)
  for (const url of searches) assert.equal((await fetch(url, { headers })).status, 200)

  service.process.kill('SIGUSR2')
  while (!/writer thread died/.test(service.output())) await setTimeout(5)
  // A thread may hear of a request before it hears of the death.
  const insist = async (ask: () => Promise<Response>) => {
    let response = await ask()
    while (response.status === 503) response = await ask()
    return response.status
  }
  const after = numbered(CLIENTS, 'after ')
  const created = await Promise.all(after.map((title) => insist(() => post(title))))
  assert.deepEqual(new Set(created), new Set([201]))
  for (const url of searches) assert.equal(await insist(() => fetch(url, { headers })), 200)
  const titles = new Set(titlesOf(await listAll(store)))
  assert.deepEqual(new Set([...before, ...after]).difference(titles), new Set())
  await service.stop()
  assert.match(service.output(), /the writer thread died: it was terminated/)
})
