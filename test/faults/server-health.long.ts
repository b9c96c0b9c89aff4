import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ACCOUNT, type Service } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'
import { ANSWER_TIME, failuresIn, failuresOnce } from './caller.ts'
import { onEachServer, serve, until } from './engine-servers.ts'

/** A cause that is told twice. */
const REPEATED = /(.{5,}): \1/

/** In seconds. A stop waits as long for what is under way. */
const STORE_TIMEOUT = '4'

onEachServer('what /readyz says of a database server, and a stop without it', (server) => {
  const start = async (t: TestContext) => serve(t, await server().createDatabase(), { STORE_TIMEOUT })

  it('that stops, and is back: 503 with Retry-After, and 200 again', async (t) => {
    const service = await start(t)
    await ready(service)
    await server().stop('immediate')
    await assertNotReady(service)
    for (const { err } of await failuresOnce(service, 1, /./))
      assert.doesNotMatch(err?.message ?? '', REPEATED)
    await server().start()
    await ready(service)
    assert.deepEqual(await service.stop(), { code: 0, signal: null })
  })

  it('that stands still: 503, and SIGTERM ends the service with code 0', async (t) => {
    const [asked, unasked] = [await start(t), await start(t)]
    for (const service of [asked, unasked]) await ready(service)
    server().freeze()
    // A signal takes effect in its own time in each of the server's threads.
    await setTimeout(100)
    try {
      await assertNotReady(asked)
      for (const { err } of failuresIn(asked)) assert.doesNotMatch(err?.message ?? '', REPEATED)
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

async function get(service: Service, path: string) {
  const response = await fetch(service.url + path, { signal: AbortSignal.timeout(ANSWER_TIME) })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function assertNotReady(service: Service): Promise<void> {
  const response = await get(service, '/readyz')
  assert.equal(response.text, '{"status":503,"message":"Service unavailable","data":null}')
  assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
  assert.equal((await get(service, '/healthz')).status, 200)
}

const ready = (service: Service) =>
  until('it is ready', async () => (await get(service, '/readyz')).status === 200)
