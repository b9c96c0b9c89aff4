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

const isUnavailable = (error: unknown) => error instanceof StoreUnavailable && error.nothingWritten

it('whoever waits goes on once the store is open, and nobody waits any more', async (t) => {
  using file = newFile()
  const deferred = new DeferredStore(TIMEOUT)
  assert.throws(() => deferred.store, /not open/)
  const waiting = Promise.all([deferred.opened(), deferred.opened()])
  const store = await openFile(file.path)
  t.after(() => store.close())
  deferred.open(store)
  await waiting
  assert.equal(deferred.opened(), undefined)
  assert.equal(deferred.store, store)
  deferred.refuse('the service is stopping')
  assert.equal(deferred.opened(), undefined)
})

it('nobody waits longer than the deadline', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const deferred = new DeferredStore(TIMEOUT)
  let isOver = false
  const refused = assert.rejects(deferred.opened() ?? Promise.resolve(), isUnavailable).then(() => {
    isOver = true
  })
  t.mock.timers.tick(TIMEOUT - 1)
  await setImmediate()
  assert.equal(isOver, false)
  t.mock.timers.tick(1)
  await refused
})

it('all are refused at once when the store cannot be opened', async () => {
  const deferred = new DeferredStore(TIMEOUT)
  const waiting = assert.rejects(deferred.opened() ?? Promise.resolve(), isUnavailable)
  deferred.refuse('it failed')
  await waiting
  await assert.rejects(deferred.opened() ?? Promise.resolve(), isUnavailable)
})

it('a request waits for the store, whether its token is known or new, and is refused without one', async (t) => {
  using file = newFile()
  const deferred = new DeferredStore(TIMEOUT)
  const auth = new Auth(ACCOUNT, SECRET)
  const app = createTestServer(deferred, { auth })
  const authorization = await auth.issue()
  const get = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/book/1', headers })).statusCode
  const waiting = [get({ authorization })]
  assert.equal(await get({}), 401)
  assert.equal(await get({ authorization: 'x' }), 401)
  await auth.verify(authorization)
  waiting.push(get({ authorization }))
  const store = await openFile(file.path)
  t.after(() => app.close().then(() => store.close()))
  deferred.open(store)
  assert.deepEqual(await Promise.all(waiting), [404, 404])
})

it('a request that waited in vain has stored nothing', async (t) => {
  const deferred = new DeferredStore(TIMEOUT)
  const auth = new Auth(ACCOUNT, SECRET)
  const app = createTestServer(deferred, { auth })
  t.after(() => app.close())
  const waiting = app.inject({
    method: 'POST',
    url: '/book',
    headers: { authorization: await auth.issue() },
    payload: { title: 'T', author: 'A', year: 1 },
  })
  deferred.refuse('it failed')
  const { statusCode, headers } = await waiting
  assert.deepEqual([statusCode, headers['x-stored']], [503, 'no'])
})
