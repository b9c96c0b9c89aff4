import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { failure } from '../../../src/http/envelope.ts'
import { uploaded } from '../../../src/http/protocol/upload.ts'
import { activeTimers } from '../../support/active-timers.ts'

const LATE = failure.requestTimeout

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

/** When and for how long the process stands still, in milliseconds. */
const STALL = { at: 10_000, time: 40_000 }

const read = (iterator: () => AsyncIterator<Uint8Array>) =>
  uploaded({ iterator, socket: { setTimeout() {} } } as unknown as IncomingMessage, 10 ** 9)

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
  const chunksLeft = arriving()
  let received = 0
  let end: { received: number; error?: unknown } | undefined
  const receiving = async () => {
    const file = read(() => ({ next: () => chunksLeft.next() }))
    // The second receiver takes what the first has left.
    for (const isFirst of [true, false])
      for await (const _chunk of file) {
        received++
        await sleep(work)
        if (isFirst) break
      }
    end = { received }
  }
  receiving().catch((error) => {
    end = { received, error }
  })
  for (let step = 100; end === undefined; now += step) {
    step = isStalled && now === STALL.at ? STALL.time : 100
    t.mock.timers.tick(step)
    await new Promise(setImmediate)
  }
  return end
}

describe('the least rate of an upload, 1 KiB per second, averaged over half a minute,', () => {
  for (const [name, chunks, expected, work, isStalled] of [
    ['lets pass what arrives as fast', Array(40).fill([6000, 6144]), { received: 40 }],
    ['ends what arrives at half of it', Array(40).fill([6000, 3072]), { received: 9, error: LATE }],
    ['ends what arrives in drops', Array(20).fill([5000, 1]), { received: 6, error: LATE }],
    ['ends what does not arrive', [[100_000, 1]], { received: 0, error: LATE }],
    [
      'saves nothing up for later',
      [
        [0, 1_000_000],
        [35_000, 1],
      ],
      { received: 1, error: LATE },
    ],
    ['does not count the time that the receiver takes', Array(8).fill([0, 1]), { received: 8 }, 10_000],
    ['lets pass what arrived while the process stood still', [[40_000, 1]], { received: 1 }, 0, true],
  ] as [string, [number, number][], object, number?, boolean?][])
    it(name, async (t) => assert.deepEqual(await receive(t, chunks, work, isStalled), expected))

  it('lets a connection be idle until the request is answered, however long that takes', async (t) => {
    const limits: (number | undefined)[] = []
    const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      limits.push(request.socket.timeout)
      if (request.method === 'POST')
        for await (const _chunk of uploaded(request, 100)) limits.push(request.socket.timeout)
      response.end()
    })
    server.setTimeout(70_000)
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    for (const body of ['a book', undefined])
      await fetch(`http://127.0.0.1:${port}`, body === undefined ? {} : { method: 'POST', body })
    // Undici keeps the connection.
    assert.deepEqual(limits, [70_000, 0, 70_000])
  })

  it('leaves no timer behind if the sender has gone', async () => {
    const before = activeTimers()
    const gone = () => ({ next: () => Promise.reject(new Error('aborted')) })
    await assert.rejects(read(gone)[Symbol.asyncIterator]().next(), failure.badRequest)
    assert.ok(activeTimers() <= before)
  })
})
