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
import { parseExposition, total } from '../../support/exposition.ts'
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
    assert.deepEqual(titlesOf(await listAll(store)), ['a', 'b'])
    assert.equal(threads, 3)
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

it('a service whose threads of the file die answers 503, has the cause in the log, and goes on, on every thread', async (t) => {
  const settings = { THREADS: '4', METRICS_PORT: '0' }
  const service = await startService(file.directory, settings, ['--import', TERMINATOR])
  t.after(() => service.stop())
  const headers = { authorization: await logIn(service.url) }
  const post = (title: string) =>
    fetch(`${service.url}/book`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ title, author: 'A', year: 1 }),
    })
  const search = (path: string) => fetch(`${service.url}/books?${path}`, { headers })
  const metrics = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
  const waiting = async () =>
    total(parseExposition(await (await fetch(metrics)).text()), 'store_load', { part: 'writes_waiting' })
  const before = numbered(CLIENTS, 'before ')
  for (const { status } of await Promise.all(before.map(post))) assert.equal(status, 201)
  for (const path of ['sort=title', 'q=before']) assert.equal((await search(path)).status, 200)

  const blocked = lock()
  let answered = 0
  const responses = numbered(CLIENTS).map(async (title) => {
    const response = await post(title)
    answered++
    return { title, response }
  })
  // If this takes too long, they are refused because of the lock.
  while ((await waiting()) + answered < CLIENTS) await setTimeout(5)
  service.process.kill('SIGUSR2')
  while (!/writer thread died/.test(service.output())) await setTimeout(5)
  blocked[Symbol.dispose]()
  const stored = [...before]
  for (const { title, response } of await Promise.all(responses)) {
    if (response.status === 201) stored.push(title)
    else {
      assert.equal(response.status, 503)
      assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
      assert.deepEqual(await response.json(), { status: 503, message: 'Service unavailable', data: null })
    }
  }
  assert.ok(stored.length < 2 * CLIENTS)
  // A thread may hear of a request before it hears of the death.
  const insist = async (ask: () => Promise<Response>) => {
    let response = await ask()
    while (response.status === 503) response = await ask()
    return response.status
  }
  const titles = numbered(CLIENTS, 'after ')
  const created = await Promise.all(titles.map((title) => insist(() => post(title))))
  assert.deepEqual(new Set(created), new Set([201]))
  for (const path of ['sort=title', 'q=after']) assert.equal(await insist(() => search(path)), 200)
  assert.deepEqual(titlesOf(await listAll(store)), [...stored, ...titles].toSorted())
  await service.stop()
  assert.match(service.output(), /the writer thread died: it was terminated/)
  assert.match(service.output(), /"level":50.*(the writer thread died|database is locked)/)
})
