import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { parseExposition, total } from '../support/exposition.ts'
import { ACCOUNT } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'
import { Caller, failuresIn } from './caller.ts'
import { onEachServer, serve } from './engine-servers.ts'

/** A cause that is told twice. */
const REPEATED = /(.{5,}): \1/

const LISTS = 5

const NOT_READY = 'the store is not ready: '

onEachServer('the health of a service whose database server', (server) => {
  // A stop waits as long as STORE_TIMEOUT for what is under way.
  const start = async (t: TestContext) =>
    serve(t, await server().createDatabase(), { STORE_TIMEOUT: '4', METRICS_PORT: '0' })

  it('stops, and is back: not ready, and ready again; the log and the metrics tell the cause and count all', async (t) => {
    const service = await start(t)
    const metricsUrl = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
    const caller = new Caller(service)
    await caller.ok('GET /readyz')
    await server().stop('immediate')
    try {
      await assertNotReady(caller)
      await Promise.all(Array.from({ length: LISTS }, () => caller.unavailable('GET /books')))
      const samples = parseExposition(await (await fetch(metricsUrl)).text())
      assert.equal(total(samples, 'store_failures_total', { reason: 'connection' }), LISTS + 1)
    } finally {
      await server().start()
    }
    await caller.recovers('GET /readyz')
    // The end tells of what the log has not told yet.
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
    const failures = failuresIn(service)
    const lists = failures.filter(({ err }) => !err?.message.startsWith(NOT_READY))
    assert.equal(lists.length, LISTS, service.output())
    for (const { err } of failures) {
      const message = err?.message.replace(NOT_READY, '') ?? ''
      assert.match(message, /^(the database server (failed: |did not answer)|no connection to )/)
      assert.doesNotMatch(err?.message ?? '', REPEATED)
      assert.equal(err?.stack, undefined)
    }
    assert.ok(
      failures.some(({ err }) => err?.reason === 'connection' && /ECONNREFUSED|ENOENT/.test(err.message)),
    )
  })

  it('stands still: not ready, a write may be stored, and SIGTERM ends the service with code 0', async (t) => {
    const [asked, unasked] = [await start(t), await start(t)]
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
      await assertNotReady(caller)
      const [first] = failuresIn(asked)
      assert.match(
        first?.err?.message ?? '',
        /^the database server did not answer within [0-9.]+ seconds, and it is not known whether the write was stored$/,
      )
      const unfinished = beginRequest(unasked.url, JSON.stringify(ACCOUNT))
      await unfinished.begun
      unfinished.response.catch(() => {})
      for (const end of await Promise.all([asked.stop(), unasked.stop()]))
        assert.deepEqual(end, { code: 0, signal: null }, asked.output() + unasked.output())
    } finally {
      server().thaw()
    }
  })
})

async function assertNotReady(caller: Caller): Promise<void> {
  const response = await caller.call('GET /readyz')
  assert.equal(response.body, '{"status":503,"message":"Service unavailable","data":null}')
  assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
  await caller.ok('GET /healthz')
}
