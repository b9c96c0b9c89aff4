import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ANSWER_TIME, Caller, SOON } from './caller.ts'
import { onEachServer, readRows, serve } from './engine-servers.ts'
import { Network } from './network.ts'
import { surviveOutage } from './outage.ts'

/** Longer than the deadline of the service, so that every connection gets stuck; milliseconds. */
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
      }
      await surviveOutage(t, server(), outage, (url) => network.url(url))
    })

    it('while they are idle: one request finds out for all', async (t) => {
      await using network = await Network.open(server())
      const url = network.url(await server().createDatabase())
      const caller = new Caller(
        await serve(t, url, { DB_CONNECTIONS: String(CONNECTIONS), STORE_TIMEOUT: SOON }),
      )
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

    it('before the response to a write: 503, and it is not done again', async (t) => {
      await using network = await Network.open(server())
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
      await loses('POST /book', { title: 'once', author: '', year: 1 })
      assert.equal((await readRows(server(), url)).filter(({ title }) => title === 'once').length, 1)
      await caller.ok(`DELETE /book/${await caller.create()}`)
      await loses(`DELETE /book/${id}`)
      // On MySQL it is the response to the beginning of the transaction.
      assert.equal((await caller.call(`GET /book/${id}`)).status, engine === 'postgres' ? 404 : 200)
    })

    it('and do not come back: the service ends all the same', async (t) => {
      await using network = await Network.open(server())
      const url = network.url(await server().createDatabase())
      const service = await serve(t, url, { DB_CONNECTIONS: String(MANY), STORE_TIMEOUT: SOON })
      const caller = new Caller(service)
      await caller.create()
      network.fallSilent()
      await Promise.all(Array.from({ length: MANY }, () => caller.unavailable('GET /book/1')))
      const late = setTimeout(() => service.process.kill('SIGKILL'), ANSWER_TIME)
      assert.deepEqual(await service.stop(), { code: 0, signal: null })
      clearTimeout(late)
    })
  },
  { concurrency: true },
)
