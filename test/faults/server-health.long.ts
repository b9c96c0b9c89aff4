import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseExposition, total } from '../support/exposition.ts'
import { ACCOUNT } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'
import { Caller, failuresIn } from './caller.ts'
import { onEachServer, serve } from './engine-servers.ts'

onEachServer('a service whose database server', (server) => {
  // A stop waits as long as STORE_TIMEOUT for what is under way.
  const settings = { STORE_TIMEOUT: '4', METRICS_PORT: '0' }

  it('stops is alive and not ready, tells the cause in the log and the metrics, and is ready again with it', async (t) => {
    const service = await serve(t, await server().createDatabase(), settings)
    const metrics = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
    const caller = new Caller(service)
    await caller.ok('GET /readyz')
    await server().stop('immediate')
    try {
      await caller.unavailable('GET /readyz')
      await caller.ok('GET /healthz')
      await caller.unavailable('GET /books')
      const samples = parseExposition(await (await fetch(metrics)).text())
      assert.equal(total(samples, 'store_failures_total', { reason: 'connection' }), 2)
    } finally {
      await server().start()
    }
    await caller.recovers('GET /readyz')
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const isRefused = /ECONNREFUSED|ENOENT/
    const failures = failuresIn(service)
    assert.ok(failures.some(({ err }) => err?.reason === 'connection' && isRefused.test(err.message)))
  })

  it('stands still may have stored a write, is not ready, and ends with code 0 on SIGTERM', async (t) => {
    const database = await server().createDatabase()
    const [asked, unasked] = [await serve(t, database, settings), await serve(t, database, settings)]
    const caller = new Caller(asked)
    const id = await caller.create()
    await new Caller(unasked).ok('GET /readyz')
    await caller.untilIndexed()
    server().freeze()
    // A signal takes effect in its own time in each of the server's threads.
    await setTimeout(100)
    try {
      const write = await caller.unavailable(`PUT /book/${id}`, { year: 2 })
      assert.equal(write.headers.get('x-stored'), 'unknown')
      await caller.unavailable('GET /readyz')
      const unknown =
        /did not answer within [0-9.]+ seconds, and it is not known whether the write was stored$/
      assert.match(failuresIn(asked)[0]?.err?.message ?? '', unknown)
      await beginRequest(unasked.url, JSON.stringify(ACCOUNT))
      for (const end of await Promise.all([asked.stop(), unasked.stop()]))
        assert.deepEqual(end, { code: 0, signal: null }, asked.output() + unasked.output())
    } finally {
      server().thaw()
    }
  })
})
