import assert from 'node:assert/strict'
import { it, mock } from 'node:test'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { openServer } from '../../../src/store/client-server/connect.ts'
import type { ConnectionPool } from '../../../src/store/client-server/pool.ts'
import type { ServerEngine } from '../../../src/store/client-server/store.ts'
import {
  beginAll,
  DEADLINE,
  driver,
  type FakeConnection,
  forever,
  MAX_AGE,
  pass,
  self,
  settle,
  useDriver,
  watch,
} from './fake-driver.ts'

useDriver()

const NOT_READY = new Error('it starts')

type Pool = ConnectionPool<FakeConnection>

/** A server that is ready. */
const ENGINE = { isReadOnly: async () => false, missingRights: async () => [] }

/** Opens a server. @param ensureSchema prepares its database. */
function open(ensureSchema: (pool: Pool) => Promise<void>, signal?: AbortSignal) {
  driver.meanings.set(NOT_READY, { outcome: 'lost', isNotReady: true })
  const reports: string[] = []
  const server = {
    product: 'Fake',
    target: { hosts: [{ host: 'h', port: 1 }], sessionAttrs: 'any', loadBalanceHosts: 'disable' } as const,
    driver,
    ensureSchema,
    engineOf: () => ENGINE as unknown as ServerEngine<FakeConnection>,
  }
  const options = {
    connections: 3,
    connectionMaxAge: MAX_AGE,
    timeout: DEADLINE,
    report: (text: string) => reports.push(text),
    ...(signal && { signal }),
  }
  return { reports, opening: watch(openServer(server, options)) }
}

it('a start waits 30 seconds for a server, and as long again once the server has worked for longer', async () => {
  let attempts = 0
  const { reports, opening } = open(async (pool) => {
    await pool.run(self)
    // It makes an index for long, then fails.
    if (++attempts === 3) mock.timers.setTime(Date.now() + 31_000)
    throw NOT_READY
  })
  await pass(30_000)
  assert.deepEqual([opening.state, reports.length], ['pending', 1])
  await pass(2000)
  assert.ok(opening.error instanceof StoreNotOpened)
  assert.equal(opening.error.message, 'the Fake server at h was not ready within 30 seconds: it starts')
  assert.equal(attempts, 64)
  assert.deepEqual(
    driver.made.map(({ state }) => state),
    ['ended'],
  )
})

it('a start that is given up ends its connections', async () => {
  const giveUp = new AbortController()
  const { opening } = open(async (pool) => {
    await pool.run(self)
    giveUp.abort(new Error('gone'))
    throw NOT_READY
  }, giveUp.signal)
  await pass(1000)
  assert.equal(opening.error, giveUp.signal.reason)
  assert.deepEqual(
    driver.made.map(({ state }) => state),
    ['ended'],
  )
})

it('a store that is open connects again after a failure, and is ready while writes hang, but not after two seconds without an answer', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Pool>()
  const { opening } = open(async (pool) => resolve(pool))
  const pool = await promise
  await settle()
  let refusals = 1
  driver.connecting = async () => {
    if (refusals-- > 0) throw new Error('refused')
  }
  const writes = await beginAll(pool, 3, 'write')
  const ready = watch(opening.value?.ready() ?? assert.fail('it is not open'))
  await pass(1000)
  const states = [ready, ...writes.map(({ use }) => use)].map(({ state }) => state)
  assert.deepEqual(states, ['fulfilled', 'pending', 'pending', 'pending'])
  t.mock.method(ENGINE, 'isReadOnly', forever)
  const late = watch(opening.value?.ready() ?? assert.fail('it is not open'))
  await pass(2000)
  assert.equal(late.state, 'rejected')
})
