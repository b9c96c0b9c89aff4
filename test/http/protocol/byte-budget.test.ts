import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { ByteBudget } from '../../../src/http/protocol/byte-budget.ts'

const LIMIT = 400
const MOST = 800

/** How long a client may take nothing, in milliseconds: if others need its memory, and if much is in use. */
const [PATIENCE, LONGEST] = [1000, 30_000]

/** By the clock of the tests, in milliseconds. */
let now = 0
let budget: ByteBudget
let logged: object[]
beforeEach(() => {
  mock.method(performance, 'now', () => now)
  logged = []
  budget = new ByteBudget({ debug: (figures: object) => logged.push(figures) }, LIMIT, MOST)
})
afterEach(() => mock.reset())

/** The response to a client that has taken nothing, or everything if nothing is left for it. */
class Reader extends EventEmitter {
  closed = false
  isCut = false
  readonly socket = {
    writableLength: 1,
    remoteAddress: '::1' as string | undefined,
    destroy() {
      this.remoteAddress = undefined
    },
  }

  take(bytes: number): boolean {
    return budget.take(this as unknown as ServerResponse, bytes)
  }

  destroy(): void {
    this.isCut = true
    // As that of Node.js, it is closed later.
    setImmediate(() => this.close())
  }

  close(): void {
    this.closed = true
    this.emit('close')
  }
}

/** Clients whose responses have room, each a hundred bytes. */
function readers(count: number): Reader[] {
  const all = Array.from({ length: count }, () => new Reader())
  for (const reader of all) assert.ok(reader.take(100))
  return all
}

const areCut = (all: readonly Reader[]) => all.map(({ isCut }) => isCut)

describe('the memory of bodies and responses', () => {
  it('is bounded: with the budget in use another one is refused, and none is cut that has just begun; one of any size has room', () => {
    const all = readers(4)
    now += PATIENCE - 1
    assert.ok(!new Reader().take(100))
    for (const reader of all.splice(1)) reader.close()
    assert.ok(all[0]?.take(2 * MOST))
    assert.ok(!new Reader().take(1))
    assert.deepEqual(areCut(all), [false])
  })

  it('is free again when a response is closed, also if its size has changed, and is not taken for it any more', () => {
    const [first, second] = readers(4) as [Reader, Reader]
    for (const size of [200, 300, 50]) assert.ok(first.take(size))
    first.close()
    second.close()
    assert.ok(first.take(2 * LIMIT))
    readers(2)
    assert.ok(!new Reader().take(1))
  })

  it('may grow beyond the budget for a response that has begun, up to a second limit', () => {
    const [first, second] = readers(4) as [Reader, Reader]
    assert.ok(first.take(MOST - 300))
    assert.ok(!second.take(101))
    assert.ok(second.take(100))
  })

  it('is taken from who has waited longest, once that is long, and only as much as is needed', async () => {
    const all = readers(4)
    now += PATIENCE
    assert.ok(new Reader().take(150))
    assert.deepEqual(areCut(all), [true, true, false, false])
    assert.deepEqual(logged, Array(2).fill({ ip: '::1' }))
    await once(all[1] as Reader, 'close')
    now -= PATIENCE
    assert.ok(!new Reader().take(100), 'what is free is counted once')
  })

  it('is not taken from who reads: for a list that goes on, its client has taken what came before', () => {
    const all = readers(4)
    now += PATIENCE / 2
    assert.ok(all[0]?.take(100))
    now += PATIENCE / 2
    assert.ok(all[0]?.take(200), 'nor from the response that grows')
    assert.deepEqual(areCut(all), [false, true, false, false])
    assert.ok(!new Reader().take(300), 'nor when the others are cut')
    assert.deepEqual(areCut(all), [false, true, true, true])
  })

  it('is not taken from who has nothing to take, such as a client that still sends its body', () => {
    const all = readers(4)
    for (const { socket } of all) socket.writableLength = 0
    now += LONGEST
    assert.ok(!new Reader().take(100))
    assert.deepEqual(areCut(all), [false, false, false, false])
    for (const { socket } of all.slice(2)) socket.writableLength = 1
    assert.ok(new Reader().take(100))
    assert.deepEqual(areCut(all), [false, false, true, true])
  })

  it('is taken from who waits very long as soon as more than half of it is in use', () => {
    const all = readers(2)
    now += LONGEST
    readers(1)
    assert.deepEqual(areCut(all), [false, false])
    readers(1)
    assert.deepEqual(areCut(all), [true, false])
  })
})
