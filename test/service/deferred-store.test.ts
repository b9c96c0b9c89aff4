import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Auth } from '../../src/auth/auth.ts'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { DeferredStore } from '../../src/service/http-service.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { createTestServer } from '../support/test-server.ts'

/** In milliseconds. */
const TIMEOUT = 7000

/** A store that is not open yet, and a server on it. */
function defer(t: TestContext) {
  const deferred = new DeferredStore(TIMEOUT)
  const auth = new Auth(ACCOUNT, SECRET)
  const app = createTestServer(deferred, { auth })
  t.after(() => app.close())
  return { deferred, auth, app }
}

it('nobody waits for the store longer than the deadline', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let isOver = false
  const waiting = new DeferredStore(TIMEOUT).opened()?.catch((error) => {
    isOver = true
    assert.ok(error instanceof StoreUnavailable && error.nothingWritten)
  })
  t.mock.timers.tick(TIMEOUT - 1)
  await setImmediate()
  assert.equal(isOver, false)
  t.mock.timers.tick(1)
  await waiting
  assert.ok(isOver)
})

it('a request waits for the store, whether its token is known or new, and is refused without one', async (t) => {
  using file = newFile()
  const { deferred, auth, app } = defer(t)
  assert.throws(() => deferred.store, /not open/)
  const authorization = await auth.issue()
  const get = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/book/1', headers })).statusCode
  const waiting = [get({ authorization })]
  assert.equal(await get({}), 401)
  assert.equal(await get({ authorization: 'x' }), 401)
  await auth.verify(authorization)
  waiting.push(get({ authorization }))
  const store = await openFile(file.path)
  t.after(() => store.close())
  deferred.open(store)
  assert.deepEqual(await Promise.all(waiting), [404, 404])
  deferred.refuse('the service is stopping')
  assert.equal(deferred.opened(), undefined, 'nobody waits any more')
})

it('a request that waited in vain has stored nothing, and the next one is refused at once', async (t) => {
  const { deferred, auth, app } = defer(t)
  const headers = { authorization: await auth.issue() }
  const payload = { title: 'T', author: 'A', year: 1 }
  const create = () => app.inject({ method: 'POST', url: '/book', headers, payload })
  const waiting = create()
  deferred.refuse('it failed')
  for (const response of [await waiting, await create()])
    assert.deepEqual([response.statusCode, response.headers['x-stored']], [503, 'no'])
})
