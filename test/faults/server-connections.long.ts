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
    it('on which statements fail, because the table is gone: 503 with the cause in the log, and none is left over', async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url, { DB_CONNECTIONS: '5' })
      const caller = new Caller(service)
      const id = await caller.create()
      await caller.untilIndexed()
      await server().query('ALTER TABLE books RENAME TO gone', url)
      const lines = ['POST /book', `PUT /book/${id}`, `GET /book/${id}`, 'GET /books', `DELETE /book/${id}`]
      const body = { title: 'T', author: 'A', year: 1 }
      for (let round = 0; round < 20; round++)
        await Promise.all(lines.map((line) => caller.unavailable(line, /^P/.test(line) ? body : undefined)))
      const failures = await failuresOnce(service, 100, /./)
      assert.equal(failures.length, 100)
      for (const { err } of failures) assert.match(err?.message ?? '', /books.*does(n't| not) exist/)
      await server().query('ALTER TABLE gone RENAME TO books', url)
      assert.deepEqual(await caller.ok(`GET /book/${id}`), { id, ...body })
      // Pages share no connection, so they wait in vain for one that is counted as used and is not.
      await Promise.all(Array.from({ length: 50 }, () => caller.ok('GET /books?limit=1')))
      assert.ok((await connections(server(), url)).length <= 5)
    })

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
      const book = { id, title: 'T', author: 'A', year: 1 }
      assert.deepEqual(await caller.ok('GET /books'), [book])
      await failuresOnce(service, 3, /read.only|within/)
      assert.ok(failuresIn(service).some(({ err }) => err?.reason === 'read_only'))

      // One that only reads can start; there is nothing to be made.
      const second = new Caller(await serve(t, url, { STORE_TIMEOUT: SOON, DB_CONNECTIONS: '3' }))
      assert.deepEqual(await second.ok('GET /books'), [book])
      // As after a change of roles, the connections stay as they are, and all of them are in use.
      const many = (use: (caller: Caller) => Promise<unknown>) =>
        Promise.all(Array.from({ length: 50 }, (_, i) => use(i % 2 === 0 ? caller : second)))
      await many((each) => each.ok('GET /books'))
      await setReadOnly(false)
      await many((each) => each.create())
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
