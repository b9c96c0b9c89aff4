import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Auth } from '../../src/auth/auth.ts'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { DeferredStore } from '../../src/service/http-service.ts'
import { openedFile } from '../store/sqlite/file.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

/** In milliseconds. */
const TIMEOUT = 7000

/** A store that is not open yet, a server on it, and a good token. */
async function defer(t: TestContext) {
  const deferred = new DeferredStore(TIMEOUT)
  const auth = new Auth(ACCOUNT, SECRET)
  const app = createTestServer(deferred, { auth })
  t.after(() => app.close())
  return { deferred, auth, app, authorization: await auth.issue() }
}

it('nobody waits for the store longer than the deadline', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const errors: unknown[] = []
  void new DeferredStore(TIMEOUT).opened()?.catch((error) => errors.push(error))
  t.mock.timers.tick(TIMEOUT - 1)
  await setImmediate()
  assert.equal(errors.length, 0)
  t.mock.timers.tick(1)
  await setImmediate()
  const [error] = errors
  assert.ok(error instanceof StoreUnavailable && error.nothingWritten)
})

it('a request waits for the store, whether its token is known or new, and is refused without one; /readyz waits too', async (t) => {
  await using file = await openedFile()
  const { deferred, auth, app, authorization } = await defer(t)
  assert.throws(() => deferred.store, /not open/)
  const get = async (headers: Record<string, string>, url = '/book/1') =>
    (await app.inject({ url, headers })).statusCode
  await app.listen({ port: 0, host: '127.0.0.1' })
  const waiting = [get({ authorization }), get({}, '/readyz')]
  assert.equal(await get({}), 401)
  assert.equal(await get({ authorization: 'x' }), 401)
  await auth.verify(authorization)
  waiting.push(get({ authorization }))
  deferred.open(file.store)
  assert.deepEqual(await Promise.all(waiting), [404, 200, 404])
  deferred.refuse('the service is stopping')
  assert.equal(deferred.opened(), undefined, 'nobody waits any more')
})

it('a request that waited in vain has stored nothing, and the next one is refused at once', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { deferred, app, authorization } = await defer(t)
  const payload = { title: 'T', author: 'A', year: 1 }
  const create = () => app.inject({ method: 'POST', url: '/book', headers: { authorization }, payload })
  const waiting = create()
  deferred.refuse('it failed')
  for (const response of [await waiting, await create()])
    assert.deepEqual([response.statusCode, response.headers['x-stored']], [503, 'no'])
  // The log asks whether the store is ready, which is not there at all.
  for (let interval = 0; interval < 2; interval++) {
    t.mock.timers.tick(10_000)
    await setImmediate()
  }
})
