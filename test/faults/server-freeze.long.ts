import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Caller, failuresIn, failuresOnce, SOON } from './caller.ts'
import { onEachServer, serve } from './engine-servers.ts'
import { surviveOutage } from './outage.ts'

/** Longer than any deadline of the service. */
const DURATION = 1000 * Number(process.env.FREEZE_SECONDS ?? 8)

onEachServer('a database server that stands still', (server) => {
  it('the log says how long it was waited for, and of a write that it may have been stored', async (t) => {
    const url = await server().createDatabase()
    const [reading, writing] = [
      await serve(t, url, { STORE_TIMEOUT: SOON }),
      await serve(t, url, { STORE_TIMEOUT: SOON }),
    ]
    const id = await new Caller(writing).create()
    // The index leaves each a connection then that is open.
    await Promise.all([reading, writing].map((service) => new Caller(service).untilIndexed()))
    server().freeze()
    try {
      await Promise.all([
        new Caller(reading).unavailable(`GET /book/${id}`),
        new Caller(writing).unavailable(`PUT /book/${id}`, { year: 2 }),
      ])
    } finally {
      server().thaw()
    }
    const reason = 'the database server did not answer within [0-9.]+ seconds'
    for (const [service, message] of [
      [reading, `^${reason}$`],
      [writing, `^${reason}, and it is not known whether the write was stored$`],
    ] as const) {
      await failuresOnce(service, 1, new RegExp(message))
      assert.equal(failuresIn(service).length, 1)
    }
  })
})

onEachServer(
  'a database server that stands still under load',
  (server) => {
    it('every request is answered in time, nothing is lost or done twice, and all works again at once', (t) =>
      surviveOutage(t, server(), {
        begin: () => server().freeze(),
        duration: DURATION,
        end: () => server().thaw(),
      }))
  },
  { concurrency: true },
)
