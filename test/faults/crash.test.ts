import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { temporaryDirectory } from '../support/service.ts'
import { crashCycle, WRITES } from './crash.ts'
import { Journal } from './journal.ts'

const CYCLES = 6

describe('kill -9 at random moments, again and again on the same file', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('loses nothing that was acknowledged, and invents nothing', async (t) => {
    const journal = new Journal()
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await crashCycle(directory.path, journal)
      assert.deepEqual(journal.faults, [], `after kill ${cycle + 1}`)
    }
    t.diagnostic(JSON.stringify(journal.figures))
    assert.ok(journal.figures.acknowledged >= WRITES * CYCLES)
    assert.ok(journal.figures.unknown > CYCLES, 'the service was not killed in the middle of writes')
    assert.equal(journal.figures.refused, 0)
  })
})
