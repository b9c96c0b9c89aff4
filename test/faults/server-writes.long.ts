import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { Caller, SOON } from './caller.ts'
import { asAdministrator, onEachServer, openSession, readRows, serve } from './engine-servers.ts'
import { openNetwork } from './network.ts'

const BOOK = { title: 'T', author: 'A', year: 0 }

/** Lets books be read, but not written, as while a standby does not confirm what it has to; and undoes it. */
const BLOCK = {
  postgres: [['BEGIN', 'LOCK TABLE books IN EXCLUSIVE MODE'], 'COMMIT'],
  mysql: [['FLUSH TABLES WITH READ LOCK'], 'UNLOCK TABLES'],
} as const

const WRITERS = 30

onEachServer('writes to a database server', (server, engine) => {
  it('that hang leave connections to reads, which go on, and to the question whether the service is ready', async (t) => {
    const url = await server().createDatabase()
    const caller = new Caller(await serve(t, url))
    const ids = await Promise.all(Array.from({ length: WRITERS }, () => caller.create()))
    await using session = await openSession(asAdministrator(server(), url))
    const [block, release] = BLOCK[engine]
    for (const sql of block) await session.run(sql)
    let answered = 0
    const writes = ids.map(async (id, i) => {
      if (i % 3 === 0) await caller.ok('POST /book', BOOK)
      else await caller.ok(`${i % 3 === 1 ? 'PUT' : 'DELETE'} /book/${id}`, { year: 2 })
      answered++
    })
    for (let i = 0; i < 50; i++) {
      await caller.ok(`GET /book/${ids[0]}`)
      await caller.ok('GET /books?limit=5')
      await caller.recovers('GET /readyz')
    }
    assert.equal(answered, 0, 'the reads waited for the writes')
    await session.run(release)
    await Promise.all(writes)
  })

  it('that is down are known to have stored nothing, and are done when it is up again in time', async (t) => {
    const url = await server().createDatabase()
    const caller = new Caller(await serve(t, url, { STORE_TIMEOUT: SOON }))
    // However long the server takes to start.
    const patient = new Caller(await serve(t, url))
    const id = await caller.create()
    await server().stop('clean')
    const reading = caller.unavailable(`GET /book/${id}`)
    const writes = ['POST /book', `PUT /book/${id}`, `DELETE /book/${id}`]
    for (const response of await Promise.all(writes.map((line) => caller.unavailable(line, BOOK))))
      assert.equal(response.headers.get('x-stored'), 'no')
    assert.equal((await reading).headers.get('x-stored'), undefined)
    const waiting = patient.ok<{ year: number }>(`PUT /book/${id}`, { year: 7 })
    await server().start()
    assert.equal((await waiting).year, 7)
  })

  it('whose response is lost are 503, and not done again', async (t) => {
    await using network = await openNetwork(server())
    const url = await server().createDatabase()
    const caller = new Caller(await serve(t, network.url(url), { DB_CONNECTIONS: '1' }))
    const loses = async (line: string, body?: object) => {
      // The index would lose the response to itself.
      await caller.untilIndexed()
      network.loseResponse()
      await caller.unavailable(line, body)
    }
    // Each once before as it should be, so that nothing else has a response on that connection.
    const id = await caller.create()
    await loses('POST /book', { ...BOOK, title: 'once' })
    assert.equal((await readRows(server(), url)).filter(({ title }) => title === 'once').length, 1)
    await caller.ok(`DELETE /book/${await caller.create()}`)
    await loses(`DELETE /book/${id}`)
    // On MySQL it is the response to the beginning of the transaction.
    assert.equal((await caller.call(`GET /book/${id}`)).status, engine === 'postgres' ? 404 : 200)
  })
})

/*
 * A proxy, or a stalled server, may hold a request back and pass it on long after the service has given up and the
 * client has been told so.
 */
onEachServer(
  'a write that hangs on its way to the database server',
  (server, engine) => {
    async function hold(t: TestContext) {
      const url = await server().createDatabase()
      const network = await openNetwork(server())
      t.after(() => network[Symbol.asyncDispose]())
      const caller = new Caller(await serve(t, network.url(url), { STORE_TIMEOUT: SOON }))
      const path = `/book/${await caller.create()}`
      // Statements that are prepared are sent at once.
      await caller.ok(`PUT ${path}`, { year: 1 })
      // While the index uses the connection, a write would open another one, which is not held.
      await caller.untilIndexed()
      network.hold()
      return { url, network, caller, path }
    }

    for (const [what, method] of [
      ['does not replace a newer one', 'PUT'],
      ['does not delete a book that was changed since', 'DELETE'],
    ] as const) {
      it(what, async (t) => {
        const { network, caller, path } = await hold(t)
        const response = await caller.unavailable(`${method} ${path}`, { year: 2 })
        assert.equal(response.headers.get('x-stored'), 'unknown')
        await caller.ok(`PUT ${path}`, { year: 3 })
        await network.letGo()
        assert.equal((await caller.ok<{ year: number }>(`GET ${path}`)).year, 3)
      })
    }

    if (engine === 'postgres')
      it('creates no book', async (t) => {
        const { url, network, caller } = await hold(t)
        await Promise.all(Array.from({ length: 20 }, () => caller.call('POST /book', BOOK)))
        await caller.ok('POST /book', BOOK)
        const before = (await readRows(server(), url)).length
        await network.letGo()
        assert.equal((await readRows(server(), url)).length, before)
      })
  },
  { concurrency: true },
)
