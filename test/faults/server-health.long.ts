import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ACCOUNT, type Service } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'
import { failuresIn } from './caller.ts'
import { onEachServer, serve } from './engine-servers.ts'

/** How long an answer may take, whatever the server does; milliseconds. */
const ANSWER_TIME = 6000

/** How long the service may take to find the server again, in milliseconds. */
const PATIENCE = 15_000

/** A cause that is told twice. */
const REPEATED = /(.{5,}): \1/

/** How long a stop may take, in milliseconds. */
const STOP_TIME = 10_000

onEachServer('what /readyz says of a database server, and a stop without it', (server) => {
  const start = async (t: TestContext) => serve(t, await server().createDatabase())

  it('that stops, and is back: 503 with Retry-After, and 200 again', async (t) => {
    const service = await start(t)
    assert.equal((await get(service, '/readyz')).status, 200)
    await server().stop('immediate')
    await assertNotReady(service)
    const failures = failuresIn(service)
    assert.ok(failures.length > 0)
    for (const { err } of failures) assert.doesNotMatch(err?.message ?? '', REPEATED)
    await server().start()
    await ready(service)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  })

  it('that stands still: 503 in time, and SIGTERM ends the service with code 0', async (t) => {
    const [asked, unasked] = [await start(t), await start(t)]
    for (const service of [asked, unasked]) assert.equal((await get(service, '/readyz')).status, 200)
    server().freeze()
    // A signal takes effect in its own time in each of the server's threads.
    await setTimeout(100)
    try {
      await assertNotReady(asked)
      for (const { err } of failuresIn(asked)) assert.doesNotMatch(err?.message ?? '', REPEATED)
      const unfinished = beginRequest(unasked.url, JSON.stringify(ACCOUNT))
      await unfinished.begun
      unfinished.answer.catch(() => {})
      const signalled = Date.now()
      for (const end of await Promise.all([asked.stop(), unasked.stop()]))
        assert.deepEqual(end, { code: 0, signal: null }, asked.output() + unasked.output())
      const took = Date.now() - signalled
      assert.ok(took < STOP_TIME, `it took ${took} ms`)
    } finally {
      server().thaw()
    }
  })
})

async function get(service: Service, path: string) {
  const response = await fetch(service.url + path, { signal: AbortSignal.timeout(ANSWER_TIME) })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function assertNotReady(service: Service): Promise<void> {
  const answer = await get(service, '/readyz')
  assert.equal(answer.text, '{"status":503,"message":"Service unavailable","data":null}')
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
  assert.equal((await get(service, '/healthz')).status, 200)
}

async function ready(service: Service): Promise<void> {
  const deadline = Date.now() + PATIENCE
  while ((await get(service, '/readyz')).status !== 200) {
    assert.ok(Date.now() < deadline, 'it is not ready')
    await setTimeout(50)
  }
}
