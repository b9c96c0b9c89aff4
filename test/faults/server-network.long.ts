import assert from 'node:assert/strict'
import { it } from 'node:test'
import { stopwatch } from '../support/cpu-time.ts'
import { ANSWER_TIME, Caller } from './caller.ts'
import { onEachServer, readRows, serve } from './engine-servers.ts'
import { Network } from './network.ts'
import { surviveOutage } from './outage.ts'

/** Longer than any deadline of the service, so that every connection gets stuck. */
const DURATION = 6000

const CONNECTIONS = 5

/** Connections that get stuck each at another point. */
const MANY = 70

onEachServer(
  'a network on which connections fall silent',
  (server, engine) => {
    it('under load: as if the server stood still, and all works again with new connections', async (t) => {
      await using network = await Network.open(server())
      const outage = {
        begin: () => network.fallSilent(),
        duration: DURATION,
        end: () => network.restore(),
        // What began before has to be given up first.
        recovery: ANSWER_TIME,
      }
      await surviveOutage(t, server(), outage, (url) => network.url(url))
    })

    it('while they are idle: one request finds out for all', async (t) => {
      await using network = await Network.open(server())
      const url = network.url(await server().createDatabase())
      const caller = new Caller(await serve(t, url, { DB_CONNECTIONS: String(CONNECTIONS) }))
      await caller.create()
      // Pages share no connection, so that all are opened. Reads of one book share one, which the index may be using.
      const all = () =>
        Promise.all(Array.from({ length: 10 * CONNECTIONS }, () => caller.ok('GET /books?limit=1')))
      await all()
      network.fallSilent()
      network.restore()
      await caller.unavailable('GET /book/1')
      await caller.ok('GET /book/1')
      await all()
      await caller.create()
    })

    it('before the answer to a write: 503, and it is not done again', async (t) => {
      await using network = await Network.open(server())
      const url = await server().createDatabase()
      const caller = new Caller(await serve(t, network.url(url), { DB_CONNECTIONS: '1' }))
      const loses = async (line: string, body?: object) => {
        // The index would lose the answer to itself.
        await caller.untilIndexed()
        network.loseAnswer()
        await caller.unavailable(line, body)
      }
      // Each once before as it should be, so that nothing else has an answer on that connection.
      const id = await caller.create()
      await loses('POST /book', { title: 'once', author: '', year: 1 })
      assert.equal((await readRows(server(), url)).filter(({ title }) => title === 'once').length, 1)
      await caller.ok(`DELETE /book/${await caller.create()}`)
      await loses(`DELETE /book/${id}`)
      // On MySQL it is the answer to the beginning of the transaction.
      assert.equal((await caller.call(`GET /book/${id}`)).status, engine === 'postgres' ? 404 : 200)
    })

    it('and do not come back: the service ends all the same', async (t) => {
      await using network = await Network.open(server())
      const url = network.url(await server().createDatabase())
      const service = await serve(t, url, { DB_CONNECTIONS: String(MANY) })
      const caller = new Caller(service)
      await caller.create()
      network.fallSilent()
      await Promise.all(Array.from({ length: MANY }, () => caller.unavailable('GET /book/1')))
      const sinceBegin = stopwatch(service.process.pid)
      let time = 0
      // An ended process does not tell any more how long it waited for a processor.
      const watch = setInterval(() => {
        time = sinceBegin()
      }, 20)
      assert.deepEqual(await service.stop(), { code: 0, signal: null })
      clearInterval(watch)
      // The last use of a connection may take its whole deadline, and then a second to be cancelled.
      assert.ok(time < ANSWER_TIME + 1500, `it took ${time} ms`)
    })
  },
  { concurrency: true },
)
