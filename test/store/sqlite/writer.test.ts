import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Book } from '../../../src/catalogue/book.ts'
import { type Imported, type ImportOptions, StoreUnavailable } from '../../../src/catalogue/store.ts'
import { openSqlite, prepareSqlite } from '../../../src/store/sqlite/store.ts'
import { ResponseCount, ThreadClient } from '../../../src/store/sqlite/threads.ts'
import type { WriterFunctions } from '../../../src/store/sqlite/writer-thread.ts'
import { listAll } from '../pages.ts'
import {
  commits,
  create,
  file,
  handedOver,
  keepLog,
  lock,
  numbered,
  store,
  thread,
  timeout,
  titlesOf,
  useWriter,
} from './writer-in-use.ts'

/** What may be unanswered: writes, and characters of their text. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

const MIB = 1024 * 1024

useWriter()

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

  it('are all stored, each once and with its own response', async () => {
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
  /** Begins to import a book. @returns when the last step is due. */
  async function beginImport(options: ImportOptions = {}): Promise<{ importing: Promise<Imported> }> {
    async function* books() {
      yield [{ title: 'imported', author: 'A', year: 1 }]
    }
    const importing = store.import(books(), options)
    await setImmediate()
    // The thread of the import has staged the book.
    await once(thread, 'message')
    await setImmediate()
    return { importing }
  }

  it('wait while an import takes its last step', async () => {
    const blocked = lock()
    const { importing } = await beginImport()
    const write = create('written')
    await setImmediate()
    assert.deepEqual(store.load(), { writes_waiting: 1, queries_waiting: 0 })
    blocked[Symbol.dispose]()
    assert.deepEqual(await importing, { added: 1, skipped: 0 })
    assert.equal((await write).id, 2)
  })

  it('are awaited by the last step of an import, which may be given up meanwhile', async () => {
    const blocked = lock()
    const write = create('written')
    await handedOver()
    const [giveUp, reason] = [new AbortController(), new Error('gone')]
    const { importing } = await beginImport({ signal: giveUp.signal })
    giveUp.abort(reason)
    blocked[Symbol.dispose]()
    await assert.rejects(importing, reason)
    await write
    assert.deepEqual(titlesOf(await listAll(store)), ['written'])
  })

  /** Another store of the same file, and clients of its writer. */
  function openOther({ threads = 1 } = {}) {
    const fileThreads = prepareSqlite(file.path, () => {})
    const connect = fileThreads.connect.bind(fileThreads)
    const responses = new ResponseCount()
    const end = () => fileThreads.close()
    return {
      other: openSqlite({ path: file.path, connect, responses, threads, end }),
      newClient: () => new ThreadClient<WriterFunctions>('writer', connect),
    }
  }

  it('wait for the last steps of all imports, and not for one whose thread has died', async () => {
    const { other, newClient } = openOther()
    const clients = [newClient(), newClient(), newClient()] as const
    for (const client of clients) await client.call('pause')
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

  for (const [what, text, accepted] of [
    ['writes', '', MAX_WAITING],
    ['characters', 'x'.repeat(MIB - 10), MAX_WAITING_TEXT / MIB],
  ] as const) {
    for (const threads of [1, 4])
      it(`are bounded in ${what} in each of ${threads} threads: more is refused at once, and nothing else is lost`, async () => {
        const room = accepted / threads
        const titles = Array.from({ length: room * 2 }, (_, i) => String(i).padStart(9, '0') + text)
        const refused: string[] = []
        const { other, newClient } = openOther({ threads })
        const client = newClient()
        await client.call('pause')
        const write = (title: string) => other.create({ title, author: 'A', year: 1 })
        const writes = titles.map((title) =>
          write(title).then(
            () => title,
            (error) => {
              assert.ok(error instanceof StoreUnavailable && error.reason === 'overload')
              refused.push(title)
              return undefined
            },
          ),
        )
        await setImmediate()
        assert.equal(refused.length, room)
        await client.call('resume')
        const stored = (await Promise.all(writes)).filter((title) => title !== undefined)
        assert.equal(refused.length, room)
        assert.deepEqual(titlesOf(await listAll(store)), stored)
        await write('there is room again')
        await client.close()
        await other.close()
      })
  }

  for (const [kind, write] of [
    ['update', (id: number, expected: Book) => store.update(id, {}, expected)],
    ['delete', (id: number, expected: Book) => store.delete(id, expected)],
  ] as const) {
    it(`are bounded in characters: those of the book that a ${kind} expects count too`, async () => {
      const blocked = lock()
      const first = create('first')
      await handedOver()
      const half = 'x'.repeat(MIB / 2)
      const writes = Array.from({ length: MAX_WAITING_TEXT / MIB + 2 }, () =>
        write(1, { id: 1, title: half, author: half, year: 1 }),
      )
      const results = Promise.allSettled(writes)
      await setImmediate()
      blocked[Symbol.dispose]()
      await first
      const refused = (await results).filter(({ status }) => status === 'rejected')
      assert.equal(refused.length, 3)
    })
  }
})
