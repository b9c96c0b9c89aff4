import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import type { BirpcReturn } from 'birpc'
import { BY_ID } from '../../src/catalogue/query.ts'
import type { ImportedBook, Store } from '../../src/catalogue/store.ts'
import { openStore } from '../../src/store/open.ts'
import { connect } from '../../src/threads/channel.ts'
import { type Group, RemoteStore, type StoreCalls, serveStore } from '../../src/threads/remote-store.ts'
import { temporaryDirectory } from '../support/service.ts'

interface Calls {
  nextGroup(call: number): Promise<Group>
}

describe('a store that a thread uses which dies', () => {
  const directory = temporaryDirectory()
  const { port1, port2 } = new MessageChannel()
  const ended: string[] = []
  const clients: unknown[] = []
  let store: Store
  let served: ReturnType<typeof serveStore>
  let thread: BirpcReturn<Calls, StoreCalls>
  let remote: RemoteStore

  before(async () => {
    store = await openStore({ engine: 'sqlite', path: join(directory.path, 'books.db') })
    const watched: Store = {
      ...store,
      import: (...books) => store.import(...books).finally(() => ended.push('import')),
      page: (query, after, bounds, options) => {
        clients.push(options?.client)
        return store.page(query, after, bounds, options)
      },
      // No index of so few books is behind.
      statistics: (filter, options) => {
        clients.push(options?.client)
        options?.onIncomplete?.()
        return store.statistics(filter, options)
      },
      // No query of so few books takes long enough.
      count: async (_filter, { signal, client } = {}) => {
        clients.push(client)
        if (signal) await once(signal, 'abort')
        ended.push('count')
        throw new Error('cancelled')
      },
    }
    served = serveStore(watched, (call) => thread.nextGroup(call))
    thread = connect<Calls, StoreCalls>(port1, served.calls)
    const calls: Calls = { nextGroup: (call) => remote.nextGroup(call) }
    remote = new RemoteStore(connect<StoreCalls, Calls>(port2, calls))
  })
  after(async () => {
    port1.close()
    await store.close()
    directory.remove()
  })

  it('is told that an answer is incomplete, and only then', async () => {
    const told: string[] = []
    const options = (what: string) => ({ onIncomplete: () => told.push(what) })
    const { decades } = await remote.statistics({}, options('statistics'))
    assert.deepEqual(decades, [])
    await remote.page({ filter: {}, order: BY_ID }, undefined, { books: 1, text: 1 }, options('page'))
    assert.deepEqual(told, ['statistics'])
  })

  it('is told the error of its own groups as it was', async () => {
    const error = new RangeError('of the groups')
    async function* failing(): AsyncGenerator<ImportedBook[]> {
      yield []
      throw error
    }
    await assert.rejects(remote.import(failing()), (thrown) => thrown === error)
    assert.deepEqual(ended.splice(0), ['import'])
  })

  it('asks for no group of an import that has ended', async () => {
    await assert.rejects(thread.nextGroup(1_000_000), { message: 'the import has ended' })
  })

  it('says whose query it is', async () => {
    clients.length = 0
    const options = { client: '192.0.2.1' }
    await remote.page({ filter: {}, order: BY_ID }, undefined, { books: 1, text: 1 }, options)
    await remote.statistics({}, options)
    const signal = AbortSignal.timeout(0)
    await assert.rejects(remote.count({}, { ...options, signal }))
    assert.deepEqual(clients, ['192.0.2.1', '192.0.2.1', '192.0.2.1'])
    ended.length = 0
  })

  it('has ended all its calls, and stored nothing of them', async () => {
    const book: ImportedBook = { title: 'T', author: 'A', year: 1 }
    const asked = Promise.withResolvers<void>()
    async function* endless() {
      yield [book]
      asked.resolve()
      await new Promise(() => {})
    }
    const refused = assert.rejects(remote.count({}))
    remote.import(endless()).catch(() => {})
    await asked.promise
    thread.$close(new Error('the thread died'))
    await served.cancelAll()
    assert.deepEqual(ended.toSorted(), ['count', 'import'])
    assert.equal(await store.count({}), 0)
    await refused
  })
})
