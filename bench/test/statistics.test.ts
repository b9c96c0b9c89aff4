import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { percentile, spread } from '../src/statistics.ts'

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1)

  it('is the nearest rank', () => {
    assert.equal(percentile(hundred, 0.5), 50)
    assert.equal(percentile(hundred, 0.99), 99)
    assert.equal(percentile(hundred, 1), 100)
    assert.equal(percentile([1, 2, 3, 4, 5], 0.5), 3)
    // Of ten values the largest alone is beyond the 90th percentile, so the 99th is the largest.
    assert.equal(percentile(hundred.slice(0, 10), 0.99), 10)
  })

  it('of one value is that value, of none no number', () => {
    assert.equal(percentile([7], 0.01), 7)
    assert.ok(Number.isNaN(percentile([], 0.5)))
  })
})

describe('spread', () => {
  it('has the middle of the values in any order, and their bounds', () => {
    assert.deepEqual(spread([10, 9, 100]), { median: 10, min: 9, max: 100 })
    assert.deepEqual(spread([4, 1]), { median: 2.5, min: 1, max: 4 })
  })

  it('of one value is that value, of none nothing', () => {
    assert.deepEqual(spread([3]), { median: 3, min: 3, max: 3 })
    assert.equal(spread([]), undefined)
  })
})
