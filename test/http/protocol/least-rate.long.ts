import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
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
  chunks: readonly (readonly [wait: number, bytes: number])[],
  work = 0,
): Promise<{ received: number; error: unknown }> {
  let now = 0
  mock.method(performance, 'now', () => now)
  mock.timers.enable({ apis: ['setTimeout'] })
  async function* arriving() {
    for (const [wait, bytes] of chunks) {
      await sleep(wait)
      yield new Uint8Array(bytes)
    }
  }
  let received = 0
  let end: { received: number; error: unknown } | undefined
  const receiving = async () => {
    for await (const _chunk of atLeast(arriving(), RATE, () => late)) {
      received++
      await sleep(work)
    }
  }
  receiving().then(
    () => {
      end = { received, error: undefined }
    },
    (error) => {
      end = { received, error }
    },
  )
  try {
    for (; end === undefined; now++) {
      mock.timers.tick(1)
      await new Promise(setImmediate)
    }
    return end
  } finally {
    mock.reset()
  }
}

describe('the least rate', () => {
  it('lets pass what arrives as fast, in chunks or in bursts', async () => {
    assert.deepEqual(await receive(Array(8).fill([60, 100])), { received: 8, error: undefined })
    assert.deepEqual(await receive([...Array(5).fill([0, 10_000]), [250, 1]]), {
      received: 6,
      error: undefined,
    })
    assert.deepEqual(await receive([]), { received: 0, error: undefined })
  })

  it('ends what arrives in drops, or not at all', async () => {
    assert.deepEqual(await receive(Array(20).fill([50, 1])), { received: 6, error: late })
    assert.deepEqual(await receive([[1000, 1]]), { received: 0, error: late })
  })

  it('does not save up for later what arrives faster', async () => {
    assert.deepEqual(
      await receive([
        [0, 1_000_000],
        [350, 1],
      ]),
      { received: 1, error: late },
    )
  })

  it('does not count the time that the receiver takes', async () => {
    assert.deepEqual(await receive(Array(8).fill([0, 1]), 100), { received: 8, error: undefined })
  })

  it('ends the sender when no more is wanted', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    let isEnded = false
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(1)
      } finally {
        isEnded = true
      }
    }
    for await (const _chunk of atLeast(endless(), RATE, () => late)) break
    assert.ok(isEnded)
    assert.ok(timers() <= before, 'a timer keeps the process from ending')
  })

  it('passes on an error of the sender', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1)
      throw new Error('gone')
    }
    await assert.rejects(async () => {
      for await (const _chunk of atLeast(failing(), RATE, () => late));
    }, /gone/)
  })
})
