import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { DatabaseServer } from '../support/database-server.ts'
import { Caller, SOON } from './caller.ts'
import { onEachServer, readRows, serve } from './engine-servers.ts'
import { assertUnavailable } from './load.ts'
import { Network } from './network.ts'

const BOOK = { title: 'T', author: 'A', year: 0 }

/** How long a write that was held may take to arrive, in milliseconds. */
const ARRIVAL = 1000

/*
 * A proxy, or a stalled server, may hold a request back and pass it on long after the service has given up and the
 * client has been told so.
 */
onEachServer(
  'a write that hangs on its way to the database server',
  (server, engine) => {
    async function hold(t: TestContext) {
      const url = await server().createDatabase()
      const network = await Network.open(server())
      t.after(() => network[Symbol.asyncDispose]())
      const caller = new Caller(await serve(t, network.url(url), { STORE_TIMEOUT: SOON }))
      const id = await caller.create()
      // Statements that are prepared are sent at once.
      await caller.ok(`PUT /book/${id}`, { year: 1 })
      // While the index uses the connection, a write would open another one, which is not held.
      await caller.untilIndexed()
      network.hold()
      return { url, network, caller, id }
    }

    async function refused(caller: Caller, line: string, body?: object): Promise<void> {
      const response = await caller.call(line, body)
      assertUnavailable(response)
      assert.equal(response.headers.get('x-stored'), 'unknown')
    }

    it('does not replace a newer one', async (t) => {
      const { network, caller, id } = await hold(t)
      await refused(caller, `PUT /book/${id}`, { year: 2 })
      await caller.ok(`PUT /book/${id}`, { year: 3 })
      network.letGo()
      await setTimeout(ARRIVAL)
      assert.equal((await caller.ok<{ year: number }>(`GET /book/${id}`)).year, 3)
    })

    it('does not delete a book that was changed since', async (t) => {
      const { network, caller, id } = await hold(t)
      await refused(caller, `DELETE /book/${id}`)
      await caller.ok(`PUT /book/${id}`, { year: 3 })
      network.letGo()
      await setTimeout(ARRIVAL)
      assert.equal((await caller.ok<{ year: number }>(`GET /book/${id}`)).year, 3)
    })

    if (engine === 'postgres') {
      it('creates no book that was created again since', async (t) => {
        const { url, network, caller } = await hold(t)
        await refused(caller, 'POST /book', BOOK)
        await caller.ok('POST /book', BOOK)
        network.letGo()
        await setTimeout(ARRIVAL)
        await assertBooks(server(), url, 2)
      })

      it('creates none either of several that were to be created together', async (t) => {
        const { url, network, caller } = await hold(t)
        await Promise.all(Array.from({ length: 20 }, () => caller.call('POST /book', BOOK)))
        const before = (await readRows(server(), url)).length
        network.letGo()
        await setTimeout(ARRIVAL)
        await assertBooks(server(), url, before)
      })
    }
  },
  { concurrency: true },
)

async function assertBooks(server: DatabaseServer, url: string, count: number): Promise<void> {
  assert.equal((await readRows(server, url)).length, count)
}
