import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply } from 'fastify'
import { UnsentAnswers } from '../../../src/http/protocol/unsent-answers.ts'

const MIB = 1024 * 1024

/** More than what the system takes for a client that reads nothing: at times it takes some 40 MB. */
const SIZE = 64 * MIB

const BODY = Buffer.alloc(SIZE)

const LIMITS = { budget: 4 * SIZE, rate: { bytes: MIB, time: 1000 }, patience: 100, interval: 20 }

/** A socket, with how much the system has not taken yet. */
interface Handled {
  readonly _handle?: { readonly writeQueueSize: number }
}

let server: Server
let unsent: UnsentAnswers
const begun: ServerResponse[] = []
const clients: Socket[] = []
before(async () => {
  server = createServer((_request, response) => begun.push(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
/** The time by the clock of the tests, in milliseconds. */
let now = 0
beforeEach(() => {
  mock.timers.enable({ apis: ['setInterval'] })
  mock.method(performance, 'now', () => now)
  unsent = new UnsentAnswers(LIMITS)
  begun.length = 0
})
afterEach(async () => {
  await endAll()
  mock.reset()
})
async function endAll(): Promise<void> {
  for (const client of clients.splice(0)) client.destroy()
  while (!begun.every(({ closed }) => closed)) await setTimeout(1)
}
after(() => {
  server.closeAllConnections()
  server.close()
})

const replyOf = (raw: ServerResponse) =>
  ({ raw, log: { debug: () => {} }, request: { ip: '' } }) as unknown as FastifyReply

/** A client that has sent a request, and reads nothing until it is told to. */
async function request() {
  const count = begun.length
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  clients.push(client)
  client.on('error', () => {}).pause()
  client.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
  while (begun.length === count) await setTimeout(1)
  const response = begun[count] as ServerResponse
  return { client, response, connection: response.socket }
}

/** … and gets an answer, unless there is no room for it. */
async function answered() {
  const { client, response, connection } = await request()
  const hasRoom = unsent.hold(replyOf(response), SIZE)
  if (hasRoom) response.end(BODY)
  return { client, response, connection, hasRoom }
}

/** Waits until the system takes no more of any answer, then lets the time pass. */
async function pass(time: number): Promise<void> {
  let before: unknown
  for (let calm = 0; calm < 20; calm++) {
    await setTimeout(2)
    const left = begun.map(({ socket }) => (socket as unknown as Handled)?._handle?.writeQueueSize)
    if (!isDeepStrictEqual(left, before)) calm = 0
    before = left
  }
  for (const end = now + time; now < end; mock.timers.tick(LIMITS.interval)) now += LIMITS.interval
}

const isCut = ({ connection }: { connection: Socket | null }) => connection?.destroyed

describe('the memory of answers that are not taken', () => {
  it('is bounded: with the budget in use a new answer is refused, and none is cut that has just begun', async () => {
    const answers = []
    for (let i = 0; i < 6; i++) answers.push(await answered())
    assert.deepEqual(
      answers.map(({ hasRoom }) => hasRoom),
      [true, true, true, true, false, false],
    )
    assert.ok(!answers.some(isCut))
  })

  it('has room for one answer of any size', async () => {
    unsent = new UnsentAnswers({ ...LIMITS, budget: SIZE / 4 })
    const first = await answered()
    assert.ok(first.hasRoom)
    unsent.hold(replyOf(first.response), 2 * SIZE)
    assert.ok(!isCut(first))
    assert.ok(!(await answered()).hasRoom)
    assert.ok(!isCut(first))
  })

  it('is counted no more for an answer that was cut while it grew', async () => {
    unsent = new UnsentAnswers({ ...LIMITS, budget: 2 * SIZE })
    const growing = await answered()
    await pass(2 * LIMITS.patience)
    await answered()
    await pass(2 * LIMITS.patience)
    unsent.hold(replyOf(growing.response), 2 * SIZE)
    assert.ok(isCut(growing))
    await endAll()
    const next = [await request(), await request(), await request()]
    // All at once: one that waits may be cut for another.
    assert.deepEqual(
      next.map(({ response }) => unsent.hold(replyOf(response), SIZE)),
      [true, true, false],
    )
  })

  it('is free again when an answer is taken, or its client is gone, also if its size has changed', async () => {
    const [first, second] = [await answered(), await answered(), await answered(), await answered()]
    for (const size of [3 * SIZE, 2 * SIZE]) unsent.hold(replyOf(first.response), size)
    first.client.destroy()
    second.client.resume()
    while (!first.response.closed || !second.response.closed) await setTimeout(1)
    assert.equal(second.response.writableFinished, true)
    assert.ok((await answered()).hasRoom)
    assert.ok((await answered()).hasRoom)
    assert.ok(!(await answered()).hasRoom)
  })

  it('is taken from who has waited longest, once that is long', async () => {
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await answered())
    await pass(2 * LIMITS.patience)
    assert.ok((await answered()).hasRoom)
    assert.deepEqual(answers.map(isCut), [true, false, false, false])
  })

  it('is not taken from who reads', async () => {
    const [reader, ...others] = [await answered(), await answered(), await answered(), await answered()]
    await pass(2 * LIMITS.patience)
    // Enough for the system to take more.
    let read = 0
    reader.client.on('data', (bytes) => {
      read += bytes.length
      if (read > SIZE / 2) reader.client.pause()
    })
    reader.client.resume()
    while (read <= SIZE / 2) await setTimeout(1)
    assert.ok((await answered()).hasRoom)
    assert.ok(!isCut(reader))
    assert.deepEqual(others.map(isCut), [true, false, false])
  })

  it('may grow to twice the budget with answers that have begun, then they are cut', async () => {
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await answered())
    const [first, second] = answers as [Awaited<ReturnType<typeof answered>>, (typeof answers)[number]]
    unsent.hold(replyOf(first.response), 5 * SIZE)
    assert.ok(!answers.some(isCut))
    unsent.hold(replyOf(second.response), 2 * SIZE)
    assert.deepEqual(answers.map(isCut), [false, true, false, false])
  })
})

describe('the least rate', () => {
  it('cuts who takes less, if more than half of the budget is in use', async () => {
    const answers = [await answered(), await answered(), await answered()]
    await pass(LIMITS.rate.time)
    assert.ok(!answers.some(isCut))
    await pass(LIMITS.rate.time)
    assert.equal(answers.filter(isCut).length, 1, 'then there is no need to cut the others')
  })

  it('lets who takes as much have the whole answer', async () => {
    const slow = await answered()
    const others = [await answered(), await answered(), await answered()]
    let read = 0
    let enough = 0
    slow.client.on('data', (bytes) => {
      read += bytes.length
      if (read >= enough) slow.client.pause()
    })
    while (!slow.response.closed) {
      enough = read + SIZE / 8
      slow.client.resume()
      while (read < enough && !slow.response.closed) await setTimeout(1)
      await pass(0.3 * LIMITS.rate.time)
    }
    assert.ok(slow.response.writableFinished)
    assert.ok(others.some(isCut))
  })

  it('does not count while there is nothing to take', async () => {
    const slow = await request()
    const { response, client } = slow
    assert.ok(unsent.hold(replyOf(response), LIMITS.budget))
    response.write('a page, and the next one takes long')
    client.resume()
    await once(client, 'data')
    await pass(1.5 * LIMITS.rate.time)
    assert.ok(!isCut(slow))
    response.end()
  })
})
