import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
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
  lock,
  numbered,
  store,
  thread,
  titlesOf,
  useWriter,
} from './writer-in-use.ts'

/** What may be unanswered: writes, and characters of their text. */
const MAX_WAITING = 5000
const MAX_WAITING_TEXT = 32 * 1024 * 1024

const MIB = 1024 * 1024

useWriter()

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

  it('that wait keep no read waiting', async () => {
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

describe('writes to SQLite that have to wait', () => {
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

  const book = (title: string) => ({ title, author: 'A', year: 1 })
  /** As many characters as fit into a MiB with an author. */
  const text = 'x'.repeat(MIB - 10)
  const [ofBook, half] = [{ id: 1, ...book('') }, 'x'.repeat(MIB / 2)]
  const expected = { ...ofBook, title: half, author: half }

  for (const [what, threads, accepted, write] of [
    ['writes', 4, MAX_WAITING, (other, i) => other.create(book(`${i}`))],
    ['writes', 1, MAX_WAITING, (other, i) => other.create(book(`${i}`))],
    [
      'characters',
      4,
      MAX_WAITING_TEXT / MIB,
      (other, i) => other.create(book(`${i}`.padStart(9, '0') + text)),
    ],
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
