import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { ProgressBar } from '../../src/cli/progress-bar.ts'

const CLEAR = '\r\x1b[K'

describe('the progress of a command', () => {
  const { isTTY } = process.stderr
  beforeEach(() => mock.timers.enable({ apis: ['Date'] }))
  afterEach(() => {
    mock.timers.reset()
    process.stderr.isTTY = isTTY
  })

  /** @returns the bar, and a function that does something after so many milliseconds, and returns what that writes. */
  function begin(isTerminal: boolean) {
    process.stderr.isTTY = isTerminal
    const bar = new ProgressBar('importing', 'rows')
    const written = (milliseconds: number, work: () => void) => {
      mock.timers.tick(milliseconds)
      const write = mock.method(process.stderr, 'write', () => true)
      work()
      write.mock.restore()
      return write.mock.calls.map(({ arguments: [text] }) => text).join('')
    }
    return { bar, written }
  }

  it('is a line every ten seconds where there is no terminal', () => {
    for (const [milliseconds, total, done, text] of [
      [10_000, undefined, undefined, '1,000 rows, 100 per second'],
      [10_000, 0, 0, '0 %, 1,000 rows, 100 per second'],
      [20_000, 1001, undefined, '99 %, 1,000 rows, 50 per second, 1 s left'],
      [59_000, 10, 5, '50 %, 1,000 rows, 17 per second, 59 s left'],
      [60_000, 10, 5, '50 %, 1,000 rows, 17 per second, 1 min 0 s left'],
      [61_001, 2000, undefined, '50 %, 1,000 rows, 16 per second, 1 min 2 s left'],
      [20_000, 999, undefined, '100 %, 1,000 rows, 50 per second, 0 s left'],
    ] as const) {
      const { bar, written } = begin(false)
      const update = () => bar.update(1000, total, done)
      const lines = [9999, milliseconds - 9999, 9999, 1].map((time) => written(time, update))
      assert.deepEqual(lines.slice(0, 3), ['', `importing: ${text}\n`, ''])
      assert.notEqual(lines[3], '')
      assert.equal(
        written(0, () => bar.end()),
        '',
      )
    }
  })

  it('is a bar in a terminal, which changes every tenth of a second and is removed once at the end', () => {
    const { bar, written } = begin(true)
    const update = () => bar.update(1, 2)
    const end = () => bar.end()
    const half = `[${'#'.repeat(15)}${' '.repeat(15)}] 50 %, 1 rows, 10 per second, 1 s left`
    const parts = [written(99, update), written(0, end), written(1, update), written(0, update)]
    assert.deepEqual(parts, ['', '', `${CLEAR}importing: ${half}`, ''])
    assert.deepEqual([written(0, end), written(0, end)], [CLEAR, ''])
  })
})
