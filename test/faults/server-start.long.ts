import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { DatabaseServer } from '../support/database-server.ts'
import { freePort } from '../support/free-port.ts'
import { START_TIME } from '../support/service.ts'
import { Caller } from './caller.ts'
import { onEachServer, startServer, until } from './engine-servers.ts'
import { Network } from './network.ts'
import { beginStart, endsInVain } from './starting.ts'

/** How long the service waits for a server, in milliseconds. */
const WAITING_TIME = 30_000

/** Within this time a start in vain would end, in milliseconds. */
const NOT_AT_ONCE = 3000

const WAITING = /^DB_URL: waiting up to 30 seconds for the \w+ server at [^\n]+\n/

type Started = ReturnType<typeof beginStart>

const untilItWaits = ({ output }: Started) =>
  until('it says that it waits', () => WAITING.test(output()), START_TIME)

/** @returns its URL. */
async function untilItListens({ output }: Started): Promise<string> {
  const listens = () => /"url":"(http:[^"]*)"/.exec(output())?.[1]
  await until('it listens', () => listens() !== undefined, START_TIME)
  return listens() ?? ''
}

onEachServer(
  'the start of the service',
  (server, engine) => {
    it('on a server that is never there: waits, says so, and ends with one line', async (t) => {
      const url = new URL(await server().createDatabase())
      url.port = String(await freePort())
      const begin = Date.now()
      const started = beginStart(t, url.href)
      await endsInVain(started)
      const time = Date.now() - begin
      const text = started.output()
      assert.match(text, WAITING)
      assert.match(text.replace(WAITING, ''), /^Cannot start: DB_URL: [^\n]+ECONNREFUSED[^\n]+\n$/)
      assert.ok(!text.includes(url.password), text)
      assert.ok(time >= WAITING_TIME, `it took ${time} ms`)
    })

    it('on a host whose name is not known: waits, and says so', async (t) => {
      const url = new URL(await server().createDatabase())
      url.hostname = 'name.invalid'
      const started = beginStart(t, url.href)
      await untilItWaits(started)
      assert.match(started.output(), /name\.invalid/)
      await setTimeout(NOT_AT_ONCE)
      assert.equal(started.child.exitCode, null)
    })

    const absences: [string, (own: DatabaseServer) => unknown, (own: DatabaseServer) => unknown][] = [
      ['is not up', (own) => own.stop('clean'), (own) => own.start()],
      ['stands still', (own) => own.freeze(), (own) => own.thaw()],
    ]
    for (const [name, leave, come] of absences) {
      it(`on a server that ${name}: waits, says so, and serves when it is there`, async (t) => {
        const own = await startServer(engine)
        t.after(() => own.remove())
        const database = await own.createDatabase()
        await leave(own)
        const started = beginStart(t, database)
        await untilItWaits(started)
        await come(own)
        const url = await untilItListens(started)
        assert.equal(await new Caller({ url }).create(), 1)
        assert.equal(started.child.exitCode, null)
      })
    }

    it('ends at once on a signal while it waits', async (t) => {
      const url = new URL(await server().createDatabase())
      url.port = String(await freePort())
      const started = beginStart(t, url.href)
      await untilItWaits(started)
      started.child.kill('SIGTERM')
      assert.deepEqual(await started.ended, { code: 0, signal: null })
    })
  },
  { concurrency: true },
)

onEachServer('requests while the service connects', (server) => {
  it('answers the requests that came while it connected, once the store is open', async (t) => {
    await using network = await Network.open(server())
    // The connections of the service are held.
    network.gather(Number.POSITIVE_INFINITY)
    const port = await freePort()
    beginStart(t, network.url(await server().createDatabase()), port)
    const url = `http://127.0.0.1:${port}`
    await until(
      'it is alive',
      async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok === true,
      START_TIME,
    )
    const caller = new Caller({ url })
    const responses = Promise.all([
      caller.ok('GET /books'),
      caller.create(),
      caller.ok('GET /books?q=nothing'),
      caller.ok('GET /readyz'),
    ])
    let isAnswered = false
    responses
      .finally(() => {
        isAnswered = true
      })
      .catch(() => {})
    await setTimeout(500)
    assert.ok(!isAnswered, 'a request was answered before the store was open')
    network.gather(1)
    const other = connect(Number(new URL(network.url(server().url)).port), '127.0.0.1')
    t.after(() => other.destroy())
    await responses
  })
})
