import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { atLeast } from '../../../src/http/protocol/least-rate.ts'

const late = new Error('late')
const RATE = { rate: 1000, patience: 300 }

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

/**
 * Passes on so many bytes after each time in milliseconds, by a clock of its own.
 * @param work how long the receiver takes for each chunk.
 * @returns how many chunks came, and the error.
 */
async function receive(
  t: TestContext,
  chunks: readonly (readonly [wait: number, bytes: number])[],
  work = 0,
) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  async function* arriving() {
    for (const [wait, bytes] of chunks) {
      await sleep(wait)
      yield new Uint8Array(bytes)
    }
  }
  let received = 0
  let end: { received: number; error?: unknown } | undefined
  const receiving = async () => {
    for await (const _chunk of atLeast(arriving(), RATE, () => late)) {
      received++
      await sleep(work)
    }
    end = { received }
  }
  receiving().catch((error) => {
    end = { received, error }
  })
  for (; end === undefined; now++) {
    t.mock.timers.tick(1)
    await new Promise(setImmediate)
  }
  return end
}

describe('the least rate', () => {
  for (const [name, chunks, expected, work] of [
    ['lets pass what arrives as fast', Array(8).fill([60, 100]), { received: 8 }],
    ['ends what arrives in drops', Array(20).fill([50, 1]), { received: 6, error: late }],
    ['ends what does not arrive', [[1000, 1]], { received: 0, error: late }],
    [
      'saves nothing up for later',
      [
        [0, 1_000_000],
        [350, 1],
      ],
      { received: 1, error: late },
    ],
    ['does not count the time that the receiver takes', Array(8).fill([0, 1]), { received: 8 }, 100],
  ] as [string, [number, number][], object, number?][])
    it(name, async (t) => assert.deepEqual(await receive(t, chunks, work), expected))
})
