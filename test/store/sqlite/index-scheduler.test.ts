import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { scheduleIndex } from '../../../src/store/sqlite/index-scheduler.ts'

it('the index follows after 5,000 writes for a minute after a query, later after a million; only a query is told of errors', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1e12 })
  let steps = 0
  const locked = new Error('locked')
  const step = () => (++steps === 1 ? assert.fail(locked) : { books: 0, last: Number.POSITIVE_INFINITY })
  const { bringUpToDate, noteWrites } = scheduleIndex({ last: () => 0, step })
  // An error that nobody has caught would end the thread then.
  await setImmediate()
  for (const wait of [0, 60_000]) {
    steps = 0
    await assert.rejects(bringUpToDate(), locked)
    t.mock.timers.tick(wait)
    const before = steps
    noteWrites(wait === 0 ? 5000 : 1_000_000)
    assert.equal(steps, before)
    noteWrites(1)
    assert.equal(steps, before + 1)
  }
})
