import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { isTrueWithin, withTimeout } from '../../src/store/timeout.ts'

describe('work with a deadline', () => {
  it('gives its result, or its own failure', async () => {
    assert.equal(await withTimeout(Promise.resolve(7), 1000, 'late'), 7)
    const failure = new Error('its own')
    await assert.rejects(withTimeout(Promise.reject(failure), 1000, 'late'), failure)
  })

  it('is late at once if its time is over, without a warning', async (t) => {
    const warnings: unknown[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    t.after(() => process.off('warning', warn))
    await assert.rejects(withTimeout(new Promise(() => {}), -100, 'late'), StoreUnavailable)
    assert.equal(await isTrueWithin(new Promise(() => {}), -100), false)
    await setImmediate()
    assert.deepEqual(warnings, [])
  })

  it('is StoreUnavailable when it is late, whatever becomes of it', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    await assert.rejects(withTimeout(promise, 5, 'too late'), (error) => {
      assert.ok(error instanceof StoreUnavailable)
      assert.deepEqual([error.message, error.reason], ['too late', 'timeout'])
      return true
    })
    reject(new Error('nobody waits for this any more'))
  })
})
