import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import type { BirpcReturn } from 'birpc'
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
  let store: Store
  let served: ReturnType<typeof serveStore>
  let thread: BirpcReturn<Calls, StoreCalls>
  let remote: RemoteStore

  before(async () => {
    store = await openStore({ engine: 'sqlite', path: join(directory.path, 'books.db') })
    const watched: Store = {
      ...store,
      import: (...books) => store.import(...books).finally(() => ended.push('import')),
      // No query of so few books takes long enough.
      count: async (_filter, { signal } = {}) => {
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

  it('asks for no group of an import that has ended', async () => {
    await assert.rejects(thread.nextGroup(1_000_000), { message: 'the import has ended' })
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
