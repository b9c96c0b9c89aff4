import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Caller, failuresOnce } from './caller.ts'
import { connections, killConnection, onEachServer, serve, until } from './engine-servers.ts'
import { portsTo } from './measure.ts'
import { surviveOutage } from './outage.ts'

const FAILURES = 1000
const KILLS = 300

/** Logging in otherwise takes PostgreSQL more time than all the rest. */
const CHEAP_LOGIN = { scram_iterations: '1' }

/** How long connections are killed under load, in milliseconds. */
const KILLING = 1000

/** How many of them are killed at least. */
const ENOUGH = 30

onEachServer(
  'connections to a database server',
  (server, engine) => {
    it('killed one by one under load: nothing is lost or done twice, and all works again at once', (t) => {
      let url = ''
      let killed = 0
      const stopping = new AbortController()
      const killAll = async () => {
        while (!stopping.signal.aborted) {
          for (const id of await connections(server(), url)) {
            await killConnection(server(), id)
            killed++
          }
        }
      }
      let killing: Promise<void> | undefined
      return surviveOutage(
        t,
        server(),
        {
          begin: () => {
            killing = killAll()
          },
          duration: KILLING,
          end: async () => {
            await until('enough connections are killed', () => killed > ENOUGH)
            stopping.abort()
            await killing
            t.diagnostic(`${killed} connections were killed`)
          },
          isPartial: true,
        },
        (direct) => {
          url = direct
          return direct
        },
      )
    })

    it('killed while nobody uses them: nobody notices', async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url)
      const caller = new Caller(service)
      const { pid } = service.process
      assert.ok(pid !== undefined)
      const ports = () => (process.platform === 'linux' ? portsTo(server().port, pid) : new Set<string>())
      for (let round = 0; round < 5; round++) {
        await Promise.all(Array.from({ length: 20 }, () => caller.create()))
        // The service may open one more meanwhile, to index the new books.
        await until('all are killed and have ended, and the service has been told', async () => {
          const open = await connections(server(), url)
          for (const id of open) await killConnection(server(), id)
          return open.length === 0 && ports().size === 0
        })
        await setTimeout(100)
      }
    })

    it(`${KILLS} killed: none is left over, and all can be used`, async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url)
      const caller = new Caller(service)
      await caller.create()
      const user = new URL(url).username
      const ids = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename'
      let killed = 0
      for (let round = 0; killed < KILLS; round++) {
        // In some rounds none is open, or only being opened.
        assert.ok(round < 5 * KILLS, 'no connection to kill')
        const requests = Array.from({ length: 20 }, () => caller.call('GET /book/1'))
        if (round % 2 === 0) await Promise.all(requests)
        let open = 0
        // The server notices a moment later that one was cut.
        await until('there are no more connections than allowed', async () => {
          open = (await connections(server(), url)).length
          return open <= 10
        })
        killed += open
        await server().query(engine === 'postgres' ? `${ids} = '${user}'` : `KILL USER '${user}'@'%'`)
        for (const { status } of await Promise.all(requests)) assert.ok(status === 200 || status === 503)
      }
      await caller.recovers('GET /book/1')
      assertNothingLeft(service.process.pid)
      await assertUsable(caller)
      await until('connections end', async () => (await connections(server(), url)).length <= 10)
    })

    it(`${FAILURES} statements that fail, because the table is gone: 503, and no connection is left over`, async (t) => {
      const url = await server().createDatabase()
      const service = await serve(t, url)
      const caller = new Caller(service)
      const id = await caller.create()
      await server().query('ALTER TABLE books RENAME TO gone', url)
      const lines: [string, object?][] = [
        ['POST /book', { title: 'T', author: 'A', year: 1 }],
        [`PUT /book/${id}`, { year: 2 }],
        [`GET /book/${id}`],
        ['GET /books'],
        [`DELETE /book/${id}`],
      ]
      for (let failed = 0; failed < FAILURES; failed += 4 * lines.length) {
        const responses = await Promise.all(
          [0, 1, 2, 3].flatMap(() => lines.map((line) => caller.call(...line))),
        )
        for (const { status } of responses) assert.equal(status, 503)
      }
      const failures = await failuresOnce(service, FAILURES, /./)
      assert.equal(failures.length, FAILURES)
      for (const { err } of failures) assert.match(err?.message ?? '', /books.*does(n't| not) exist/)
      await until('connections end', async () => (await connections(server(), url)).length <= 10)
      await server().query('ALTER TABLE gone RENAME TO books', url)
      assert.deepEqual(await caller.ok(`GET /book/${id}`), { id, title: 'T', author: 'A', year: 1 })
      assertNothingLeft(service.process.pid)
      await assertUsable(caller)
    })
  },
  { settings: { postgres: CHEAP_LOGIN } },
)

/** Pages share no connection, so they wait in vain for one that is counted as used and is not. */
async function assertUsable(caller: Caller): Promise<void> {
  await Promise.all(Array.from({ length: 50 }, () => caller.ok('GET /books?limit=1')))
}

/** The service holds no more files and sockets than its start and its connections take. */
function assertNothingLeft(pid: number | undefined): void {
  if (process.platform !== 'linux') return
  const { length } = readdirSync(`/proc/${pid}/fd`)
  assert.ok(length < 100, `${length} files and sockets are open`)
}
