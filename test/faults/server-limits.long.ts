import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Caller, failuresIn, SOON } from './caller.ts'
import { asAdministrator, connections, onEachServer, openSession, serve, until } from './engine-servers.ts'

const BOOK = { title: 'T', author: 'A', year: 1 }

/** The fewest that both servers can be started with; the administrator may have some more. */
const MAX_CONNECTIONS = '10'

const FULL = /too many connections|remaining connection slots|too many clients/i

onEachServer(
  'connections to a database server, all of them in use',
  (server) => {
    it('all waiting for a lock: 503, no more of them than allowed, and all works when it is released', async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url, { DB_CONNECTIONS: '2', STORE_TIMEOUT: SOON })
      const caller = new Caller(service)
      const [id, other] = [await caller.create(), await caller.create()]
      await using session = await openSession(asAdministrator(server(), url))
      await session.run('BEGIN')
      await session.run(`UPDATE books SET year = 2 WHERE id = ${id}`)
      const put = () => caller.unavailable(`PUT /book/${id}`, { author: 'B' })
      await Promise.all([put(), put(), put(), put(), caller.call(`GET /book/${other}`)])
      await put()
      await until('connections are given up', async () => (await connections(server(), url)).length <= 2)
      await session.run('COMMIT')
      await caller.recovers(`PUT /book/${id}`, { title: 'U' })
      assert.deepEqual(await caller.ok(`GET /book/${id}`), { id, title: 'U', author: 'A', year: 2 })
      for (const { err } of failuresIn(service))
        assert.match(
          err?.message ?? '',
          /lock wait timeout|did not answer .*within|no connection .* within|after its deadline/i,
        )
    })
  },
  { concurrency: true },
)

onEachServer(
  'a database server that takes no more connections',
  (server) => {
    it('each request waits for one of those that the service has', async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url, { DB_CONNECTIONS: '5' })
      const caller = new Caller(service)
      await caller.create()
      await using others = new AsyncDisposableStack()
      await assert.rejects(async () => {
        for (;;) others.use(await openSession(url))
      }, FULL)
      // Each list takes a connection of its own.
      const read20 = () => Promise.all(Array.from({ length: 20 }, () => caller.ok('GET /books')))
      for (let i = 0; i < 5; i++) await read20()
      assert.deepEqual(failuresIn(service), [])
      await others.disposeAsync()
      await caller.ok('POST /book', BOOK)
      await until('all can be used', async () => {
        await read20()
        return (await connections(server(), url)).length === 5
      })
    })
  },
  {
    settings: {
      postgres: { max_connections: MAX_CONNECTIONS },
      mysql: { 'max-connections': MAX_CONNECTIONS },
    },
  },
)
