import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Caller, failuresIn, failuresOnce, SOON } from './caller.ts'
import {
  connections,
  killConnections,
  onEachServer,
  openSession,
  serve,
  until,
  untilUnused,
} from './engine-servers.ts'

/** The fewest that both servers can be started with; the administrator may have some more. */
const MAX_CONNECTIONS = '15'

const FULL = /too many connections|remaining connection slots|too many clients/i

onEachServer(
  'connections to a database server',
  (server, engine) => {
    it('that are refused, because there are too many: each request waits for one of those that the service has', async (t) => {
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

    it('to a server that became read-only: reads go on, writes are 503 with the cause in the log, and work again later', async (t) => {
      const url = await server().createDatabase()
      const setReadOnly = (value: boolean) =>
        server().query(
          engine === 'postgres'
            ? `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${value}`
            : `SET GLOBAL read_only = ${value}`,
        )
      const service = await serve(t, url, { STORE_TIMEOUT: SOON, DB_CONNECTIONS: '3' })
      const caller = new Caller(service)
      const id = await caller.create()
      // The index opens a connection of its own, which the server may not list before it is ready.
      await caller.untilIndexed()
      await setReadOnly(true)
      // With PostgreSQL it is so as of the next connection.
      await killConnections(server(), url)
      await caller.recovers(`GET /book/${id}`)
      await Promise.all([
        caller.unavailable('POST /book', { title: 'U', author: 'A', year: 1 }),
        caller.unavailable(`PUT /book/${id}`, { year: 2 }),
        caller.unavailable(`DELETE /book/${id}`),
      ])
      assert.equal((await caller.ok<unknown[]>('GET /books')).length, 1)
      await failuresOnce(service, 3, /read.only|within/)
      assert.ok(failuresIn(service).some(({ err }) => err?.reason === 'read_only'))
      // As after a change of roles, the connections stay as they are, and all of them are in use.
      await Promise.all(Array.from({ length: 50 }, () => caller.ok('GET /books')))
      await setReadOnly(false)
      await Promise.all(Array.from({ length: 50 }, () => caller.create()))
      assert.equal((await caller.ok<unknown[]>('GET /books')).length, 51)
      await server().dropDatabase(url)
      await untilUnused(server(), url)
    })
  },
  {
    settings: {
      postgres: { max_connections: MAX_CONNECTIONS },
      mysql: { 'max-connections': MAX_CONNECTIONS },
    },
  },
)
