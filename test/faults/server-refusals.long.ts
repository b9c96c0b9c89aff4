import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DatabaseServer } from '../support/database-server.ts'
import { nameIn } from '../support/database-url.ts'
import { Caller, failuresIn, failuresOnce, SOON } from './caller.ts'
import { connections, killConnection, onEachServer, readRows, serve } from './engine-servers.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** How often each write is tried in vain. */
const ROUNDS = 2

/** Makes a database read-only or not; with PostgreSQL as of the next connection. */
async function setReadOnly(server: DatabaseServer, url: string, readOnly: boolean): Promise<void> {
  await server.query(
    server.engine === 'postgres'
      ? `ALTER DATABASE ${nameIn(url)} SET default_transaction_read_only = ${readOnly}`
      : `SET GLOBAL read_only = ${readOnly}`,
  )
}

async function killConnections(server: DatabaseServer, url: string): Promise<void> {
  for (const id of await connections(server, url)) await killConnection(server, id)
}

onEachServer('a database that became read-only', (server) => {
  it('is read; a write is 503, its cause in the log once; and later writes work again', async (t) => {
    const url = await server().createDatabase()
    const service = await serve(t, url, { STORE_TIMEOUT: SOON })
    const caller = new Caller(service)
    const id = await caller.create()
    // The index opens a connection of its own, which the server may not list before it is ready.
    await caller.untilIndexed()
    await setReadOnly(server(), url, true)
    await killConnections(server(), url)
    await caller.recovers(`GET /book/${id}`)
    for (let i = 0; i < ROUNDS; i++) {
      await Promise.all([
        caller.unavailable('POST /book', BOOK),
        caller.unavailable(`PUT /book/${id}`, { year: 2 }),
        caller.unavailable(`DELETE /book/${id}`),
      ])
      assert.deepEqual(await caller.ok(`GET /book/${id}`), { id, ...BOOK })
      assert.deepEqual(await caller.ok('GET /books'), [{ id, ...BOOK }])
    }
    // On a busy machine, the last attempt may be cut off.
    const failures = await failuresOnce(service, 3 * ROUNDS, /read.only|within/)
    assert.equal(failures.length, 3 * ROUNDS)
    const reasons = failuresIn(service).map(({ err }) => err?.reason)
    assert.ok(reasons.includes('read_only'), String(reasons))

    // One that only reads can start; there is nothing to be made.
    const second = new Caller(await serve(t, url, { STORE_TIMEOUT: SOON }))
    assert.deepEqual(await second.ok('GET /books'), [{ id, ...BOOK }])
    await second.unavailable('POST /book', BOOK)

    // As after a change of roles, the connections stay as they are, and all of them are in use.
    const many = <Result>(use: (caller: Caller) => Promise<Result>) =>
      Promise.all(Array.from({ length: 50 }, (_, i) => use(i % 2 === 0 ? caller : second)))
    await many((each) => each.ok('GET /books'))
    await setReadOnly(server(), url, false)
    await many((each) => each.create())
    assert.equal((await readRows(server(), url)).length, 51)
  })
})
