import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Caller, failuresIn } from './caller.ts'
import { connections, onEachServer, openSession, serve, until } from './engine-servers.ts'

/** The fewest that both servers can be started with; the administrator may have some more. */
const MAX_CONNECTIONS = '15'

const FULL = /too many connections|remaining connection slots|too many clients/i

onEachServer(
  'a database server that refuses connections, because there are too many',
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
      await caller.create()
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
