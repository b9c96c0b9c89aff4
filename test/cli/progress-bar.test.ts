import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { ProgressBar } from '../../src/cli/progress-bar.ts'

const CLEAR = '\r\x1b[K'

describe('the progress of a command', () => {
  let written: string[]
  const { isTTY, write } = process.stderr
  beforeEach(() => {
    mock.timers.enable({ apis: ['Date'] })
    written = []
  })
  afterEach(() => {
    mock.timers.reset()
    Object.assign(process.stderr, { isTTY, write })
  })

  /** Makes a bar. @param isTerminal whether standard error is one. */
  function begin(isTerminal: boolean): ProgressBar {
    process.stderr.isTTY = isTerminal
    return new ProgressBar('importing', 'rows')
  }

  /** What is written on standard error meanwhile. */
  function during(work: () => void): string {
    process.stderr.write = (text: string | Uint8Array) => written.push(String(text)) > 0
    work()
    process.stderr.write = write
    return written.splice(0).join('')
  }

  for (const [milliseconds, done, share, text] of [
    [10_000, 12_000, undefined, '12,000 rows, 1,200 per second'],
    [10_000, 0, 0, '0 %, 0 rows, 0 per second'],
    [10_000, 1000, 0.25, '25 %, 1,000 rows, 100 per second, 30 s left'],
    [10_000, 1000, 0.999, '99 %, 1,000 rows, 100 per second, 1 s left'],
    [20_000, 1000, 0.25, '25 %, 1,000 rows, 50 per second, 1 min 0 s left'],
    [60_000, 1000, 0.25, '25 %, 1,000 rows, 17 per second, 3 min 0 s left'],
    [59_000, 1000, 0.5, '50 %, 1,000 rows, 17 per second, 59 s left'],
    [61_001, 1000, 0.5, '50 %, 1,000 rows, 16 per second, 1 min 2 s left'],
    [10_000, 1000, 1, '100 %, 1,000 rows, 100 per second, 0 s left'],
  ] as const)
    it(`is a line where there is no terminal: ${text}`, () => {
      const bar = begin(false)
      mock.timers.tick(milliseconds)
      assert.equal(
        during(() => bar.update(done, share)),
        `importing: ${text}\n`,
      )
      assert.equal(
        during(() => bar.end()),
        '',
      )
    })

  it('is a line every ten seconds', () => {
    const bar = begin(false)
    for (const [milliseconds, isThere] of [
      [9999, false],
      [1, true],
      [9999, false],
      [1, true],
    ] as const) {
      mock.timers.tick(milliseconds)
      assert.equal(during(() => bar.update(1, undefined)) !== '', isThere)
    }
  })

  it('is a bar in a terminal, which changes every tenth of a second and is removed at the end', () => {
    const bar = begin(true)
    mock.timers.tick(99)
    const nothing = during(() => {
      bar.update(1, 0.5)
      bar.end()
    })
    assert.equal(nothing, '')
    mock.timers.tick(1)
    const half = `[${'#'.repeat(15)}${' '.repeat(15)}] 50 %, 1 rows, 10 per second, 1 s left`
    assert.equal(
      during(() => bar.update(1, 0.5)),
      `${CLEAR}importing: ${half}`,
    )
    assert.equal(
      during(() => bar.update(2, 1)),
      '',
    )
    const ended = during(() => {
      bar.end()
      bar.end()
    })
    assert.equal(ended, CLEAR)
  })
})
