import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Config } from '../../src/config.ts'
import { storeOptions } from '../../src/service/service.ts'

it('the store gets its settings, each in its place, and a thread its share of the connections', () => {
  const settings = { threads: 2, dbConnections: 9, dbConnectionMaxAge: 3000, storeTimeout: 5000 }
  const { report, ...options } = storeOptions(settings as Config)
  assert.deepEqual(options, { connections: 4, connectionMaxAge: 3000, timeout: 5000 })
})
