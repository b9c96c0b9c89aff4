import assert from 'node:assert/strict'
import { it } from 'node:test'
import { pauseAfter } from '../../src/service/supervisor.ts'

it('a thread is replaced after pauses that double up to 30 seconds, unless one has lived for more than a minute', () => {
  const lives = [
    [0, 0],
    [60_000, 500],
    [0, 16_000],
    [0, 30_000],
    [60_001, 30_000],
  ] as const
  const pauses = lives.map(([lifetime, last]) => pauseAfter(lifetime, last))
  assert.deepEqual(pauses, [500, 1000, 30_000, 30_000, 500])
})
