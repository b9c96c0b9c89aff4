import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { atLeast } from '../../../src/http/protocol/least-rate.ts'

const late = new Error('late')
const RATE = { rate: 1000, patience: 300 }

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

/** When and for how long the process stands still. */
const STALL = { at: 100, time: 400 }

/**
 * Passes on so many bytes after each time in milliseconds, by a clock of its own.
 * @param work how long the receiver takes for each chunk.
 * @returns how many chunks came, and the error.
 */
async function receive(
  t: TestContext,
  chunks: readonly (readonly [wait: number, bytes: number])[],
  work = 0,
  isStalled = false,
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
  for (let step = 1; end === undefined; now += step) {
    step = isStalled && now === STALL.at ? STALL.time : 1
    t.mock.timers.tick(step)
    await new Promise(setImmediate)
  }
  return end
}

describe('the least rate', () => {
  for (const [name, chunks, expected, work, isStalled] of [
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
    ['lets pass what arrived while the process stood still', [[400, 1]], { received: 1 }, 0, true],
  ] as [string, [number, number][], object, number?, boolean?][])
    it(name, async (t) => assert.deepEqual(await receive(t, chunks, work, isStalled), expected))

  it('leaves no timer behind if the sender has gone', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const gone = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(late) }) }
    await assert.rejects(atLeast(gone, RATE, () => late).next(), late)
    assert.ok(timers() <= before)
  })
})
