import assert from 'node:assert/strict'
import { it, mock } from 'node:test'
import { StoreNotOpened } from '../../../src/catalogue/store.ts'
import { openServer } from '../../../src/store/client-server/connect.ts'
import { DEADLINE, driver, MAX_AGE, pass, useDriver, watch } from './fake-driver.ts'

useDriver()

const NOT_READY = new Error('it starts')

/** Opens a server. @param ensureSchema prepares its database. */
function open(ensureSchema: () => Promise<never>) {
  driver.meanings.set(NOT_READY, { outcome: 'lost', isNotReady: true })
  const reports: string[] = []
  const server = {
    product: 'Fake',
    target: { hosts: [{ host: 'h', port: 1 }], sessionAttrs: 'any', loadBalanceHosts: 'disable' } as const,
    driver,
    ensureSchema,
    engineOf: () => assert.fail('it is not ready'),
  }
  const options = {
    connections: 1,
    connectionMaxAge: MAX_AGE,
    timeout: DEADLINE,
    report: (text: string) => reports.push(text),
  }
  return { reports, opening: watch(openServer(server, options)) }
}

it('a start waits 30 seconds for a server, and as long again once the server has worked for longer', async () => {
  let attempts = 0
  const { reports, opening } = open(async () => {
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
})
