import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Book } from '../../../src/catalogue/book.ts'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { logIn } from '../../support/client.ts'
import { startService } from '../../support/service.ts'
import { listAll } from '../pages.ts'
import {
  booksAfterClose,
  create,
  file,
  handedOver,
  lock,
  numbered,
  store,
  thread,
  threads,
  timeout,
  titlesOf,
  useWriter,
} from './writer-in-use.ts'

const MIB = 1024 * 1024

useWriter()

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
    for (let round = 0; round < 16; round++) {
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
    // The write is handed over in the next turn of this thread, before the other one can have ended.
    thread.postMessage('no batch of writes')
    await assert.rejects(
      create('behind'),
      (error) => error instanceof StoreUnavailable && /Cannot read properties/.test(error.message),
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
  /** Lets a signal end the newest thread, and says so. Says when a batch of writes is handed to the thread. */
  const TERMINATOR = `data:text/javascript,${encodeURIComponent(`
    import { subscribe } from 'node:diagnostics_channel'
    subscribe('book-catalogue.group-commit', () => process.stdout.write('batch;'))
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
    const isSaid = async (text: RegExp) => {
      while (!text.test(service.output())) await setTimeout(5)
    }
    await isSaid(/batch;.*batch;/s)
    service.process.kill('SIGUSR2')
    await isSaid(/terminated;/)
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
    assert.match(service.output(), /"level":50.*writer thread died.*it was terminated/)
    assert.match(service.output(), new RegExp(`"total":${lost},.*the store is available again`))
  })
})
