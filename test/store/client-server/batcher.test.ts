import assert from 'node:assert/strict'
import { beforeEach, describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { Batcher } from '../../../src/store/client-server/batcher.ts'
import { DEADLINE, mockTime, pass, settle, type Watched, watch } from './fake-driver.ts'

const MAX_WAITING = 5000
const MAX_BATCH = 128
const MAX_BATCH_TEXT = 256 * 1024
const MAX_WAITING_TEXT = 32 * 1024 * 1024
/** The length of many texts that fill a batch, or the queue. */
const PART = 32 * 1024

/** How much longer a request under way waits, in milliseconds. */
const MORE_TIME = 50

/** The errors of a batch that has certainly done nothing, of which nobody knows, and that the server does not know. */
const REPEATABLE = new Error('refused')
const UNCERTAIN = new Error('connection lost')
const UNKNOWN = new Error('syntax error')

interface Request {
  readonly name: string
  readonly key?: number
  readonly shape?: string
  readonly length?: number
}

/** What the batcher has sent: a batch, or one request alone. It ends when the test says so. */
interface Sent {
  names: readonly string[]
  readonly time: number
  /** Takes the requests of a batch again. @returns their deadline. */
  take(): number
  /** @param undone the names of the requests that a batch leaves undone. */
  finish(undone: readonly string[]): void
  fail(error: Error): void
}

/** An operation on nothing, and the batcher for it. */
class FakeOperation {
  readonly #sent: Sent[] = []
  /** The sizes of batches that were told. */
  readonly sizes: number[] = []
  readonly batcher: Batcher<Request, string | undefined>

  constructor(batches = 1) {
    const operation: ConstructorParameters<typeof Batcher<Request, string | undefined>>[0] = {
      together: (take, time) =>
        this.#send(take, time, (names, undone) =>
          names.map((name) => {
            if (undone.includes(name)) return undefined
            return { result: name === 'nothing' ? undefined : `${name} together` }
          }),
        ),
      alone: (request, time) => {
        const take = () => ({ requests: [request], end: 0 })
        return this.#send(take, time, ([name]) => `${name} alone`)
      },
      isRepeatable: (error) => error === REPEATABLE || error === UNKNOWN || error instanceof StoreUnavailable,
      isUnknown: (error) => error === UNKNOWN,
      shapeOf: ({ shape = '' }) => shape,
      keyOf: ({ key }) => key as number,
      lengthOf: ({ length = 0 }) => length,
      isWrite: true,
      onBatch: (size) => this.sizes.push(size),
    }
    this.batcher = new Batcher(operation, batches, DEADLINE)
  }

  #send<Result>(
    takeRequests: () => { requests: readonly Request[]; end: number },
    time: number,
    result: (names: readonly string[], undone: readonly string[]) => Result,
  ): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const take = () => {
      const { requests, end } = takeRequests()
      sent.names = requests.map(({ name }) => name)
      return end
    }
    const finish = (undone: readonly string[]) => resolve(result(sent.names, undone))
    const sent: Sent = { names: [], time, take, finish, fail: reject }
    take()
    this.#sent.push(sent)
    return promise
  }

  /** The names of the requests in everything that has been sent, each like `a b`. */
  get sent(): readonly string[] {
    return this.#sent.map(({ names }) => names.join(' '))
  }

  /** Sends requests of one turn. */
  async send(...requests: readonly (Request | string)[]): Promise<Watched<string | undefined>[]> {
    const watched = requests.map((request) =>
      watch(this.batcher.do(typeof request === 'string' ? { name: request } : request)),
    )
    await settle()
    return watched
  }

  /** What has been sent last with this request. */
  of(name: string): Sent {
    const sent = this.#sent.findLast(({ names }) => names.includes(name))
    assert.ok(sent, `${name} has not been sent`)
    return sent
  }

  /** What has been sent last with each of these requests ends well. */
  async finish(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.of(name).finish([])
      await settle()
    }
  }

  async leaveUndone(...names: readonly [string, ...string[]]): Promise<void> {
    this.of(names[0]).finish(names)
    await settle()
  }

  async fail(name: string, error: Error): Promise<void> {
    this.of(name).fail(error)
    await settle()
  }
}

const many = (count: number, request: Omit<Request, 'name'> = {}): Request[] =>
  Array.from({ length: count }, (_, i) => ({ ...request, name: `${i + 1}` }))

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i).join(' ')

/** Requests named by their key and a letter. */
const keyed = (names: string) => names.split(' ').map((name) => ({ name, key: Number(name[0]) }))

/** What became of each request. */
const outcomesOf = (requests: readonly Watched<unknown>[]) =>
  requests.map(({ state, value, error }) => (state === 'fulfilled' ? value : (error ?? 'pending')))

const WAITED = /before this one/
const LATE = /^the database server did not answer within 4 seconds, and it is not known/
const TOO_MANY = /too many/

function assertRefused(request: Watched<unknown> | undefined, message: RegExp): void {
  assert.ok(request?.error instanceof StoreUnavailable, String(request?.error))
  assert.match(request.error.message, message)
  assert.equal(request.error.nothingWritten, message !== LATE)
  assert.equal(request.error.reason, message === TOO_MANY ? 'overload' : 'timeout')
}

beforeEach(mockTime)

describe('a batch', () => {
  it('is sent at the end of the turn in which its requests arrive, without any other wait', async () => {
    const operation = new FakeOperation()
    const first = watch(operation.batcher.do({ name: 'a' }))
    await Promise.resolve()
    const second = watch(operation.batcher.do({ name: 'b' }))
    assert.deepEqual(operation.sent, [])
    await settle()
    assert.deepEqual([operation.sent, operation.of('a').time], [['a b'], DEADLINE])
    await operation.finish('a')
    assert.deepEqual(outcomesOf([first, second]), ['a together', 'b together'])
  })

  it('is one of so many at a time; the next has all requests that arrived meanwhile, and is sent at once', async () => {
    const operation = new FakeOperation(2)
    for (const name of ['a', 'b', 'c', 'd']) await operation.send(name)
    assert.deepEqual([operation.sent, operation.batcher.waiting], [['a', 'b'], 2])
    await operation.finish('b')
    assert.deepEqual([operation.sent.slice(2), operation.batcher.waiting], [['c d'], 0])
    await operation.fail('c', UNCERTAIN)
    await operation.send('e')
    await operation.send('one too many')
    assert.deepEqual(operation.sent.slice(3), ['e'])
  })

  it(`has at most ${MAX_BATCH} requests, and tells how many`, async () => {
    const operation = new FakeOperation()
    await operation.send(...many(2 * MAX_BATCH + 1))
    await operation.finish('1', `${MAX_BATCH + 1}`)
    assert.deepEqual(operation.sent, [range(1, 128), range(129, 256), '257'])
    assert.deepEqual(operation.sizes, [MAX_BATCH, MAX_BATCH, 1])
  })

  it('has at most 256 Ki code units of text; a request that is longer is sent by itself, in its turn', async () => {
    const operation = new FakeOperation()
    const full = MAX_BATCH_TEXT / PART
    await operation.send(
      ...many(2 * full - 1, { length: PART }),
      { name: 'fits', length: PART - 1 },
      { name: 'too long by one', length: 2 },
      { name: 'long', length: MAX_BATCH_TEXT + 1 },
      'next',
    )
    await operation.finish('1', 'fits', 'too long by one', 'long')
    const second = `${range(full + 1, 2 * full - 1)} fits`
    assert.deepEqual(operation.sent, [range(1, full), second, 'too long by one', 'long', 'next'])
  })

  it('has requests of one shape', async () => {
    const operation = new FakeOperation()
    const shaped = (name: string) => ({ name, key: Number(name[1]), shape: name[0] ?? '' })
    await operation.send(...['a1', 'b2', 'a2', 'a3', 'b3'].map(shaped))
    await operation.finish('a1', 'b2', 'a2')
    assert.deepEqual(operation.sent, ['a1 a3', 'b2 b3', 'a2'])
  })
})

describe('what a batch leaves undone', () => {
  it('is done alone in the time that each request still has, while the next batch is under way', async () => {
    const operation = new FakeOperation()
    await operation.send('block')
    const requests = await operation.send('a')
    await pass(1000)
    requests.push(...(await operation.send('b', 'c', 'nothing')))
    await pass(500)
    await operation.finish('block')
    assert.equal(operation.of('a').time, DEADLINE - 500)
    await operation.send('next')
    await pass(250)
    await operation.leaveUndone('a', 'b')
    assert.deepEqual(operation.sent.slice(2), ['a', 'b', 'next'])
    assert.deepEqual([operation.of('a').time, operation.of('b').time], [DEADLINE - 1750, DEADLINE - 750])
    await operation.finish('b')
    await operation.fail('a', REPEATABLE)
    assert.deepEqual(outcomesOf(requests), [REPEATABLE, 'b alone', 'c together', undefined])
    assert.equal(operation.sent.length, 5)
  })

  it('is repeated without the requests whose time is over, and has that of the first of the others', async () => {
    const operation = new FakeOperation()
    const early = watch(operation.batcher.do({ name: 'early' }))
    mock.timers.tick(50)
    const [late] = await operation.send('late')
    const batch = operation.of('late')
    assert.equal(batch.take(), DEADLINE)
    await pass(DEADLINE - 50)
    assert.deepEqual([batch.take(), batch.names], [DEADLINE + 50, ['late']])
    await operation.finish('late')
    assert.equal(late?.value, 'late together')
    assertRefused(early, WAITED)
  })

  for (const error of [undefined, REPEATABLE, new StoreUnavailable('no connection')])
    it(`is not begun when its time is over: ${error?.message}`, async () => {
      const operation = new FakeOperation()
      const requests = await operation.send('a', 'b')
      await pass(DEADLINE)
      if (error === undefined) await operation.leaveUndone('a', 'b')
      else await operation.fail('a', error)
      for (const request of requests)
        if (error instanceof StoreUnavailable) assert.equal(request.error, error)
        else assertRefused(request, WAITED)
      assert.deepEqual(operation.sent, ['a b'])
    })
})

describe('a batch that fails', () => {
  it('is repeated request by request if it has certainly done nothing, and each has its own outcome', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b', 'c')
    await pass(1000)
    await operation.fail('a', REPEATABLE)
    assert.deepEqual([operation.sent.slice(1), operation.of('a').time], [['a', 'b', 'c'], DEADLINE - 1000])
    await operation.fail('b', REPEATABLE)
    await operation.finish('c', 'a')
    assert.deepEqual(outcomesOf(requests), ['a alone', REPEATABLE, 'c alone'])
    assert.equal(operation.sent.length, 4)
  })

  it('is not tried again if the server does not know the statement: from then on all are done alone at once', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b')
    await operation.fail('a', UNKNOWN)
    await operation.finish('a', 'b')
    requests.push(...(await operation.send('c', 'd')))
    await operation.finish('c', 'd')
    assert.deepEqual(outcomesOf(requests), ['a alone', 'b alone', 'c alone', 'd alone'])
    assert.deepEqual(operation.sent, ['a b', 'a', 'b', 'c', 'd'])
  })

  it('fails each of its requests, and repeats none, if it may have done them', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b', 'c')
    await operation.send('next')
    await operation.fail('a', UNCERTAIN)
    assert.deepEqual(outcomesOf(requests), [UNCERTAIN, UNCERTAIN, UNCERTAIN])
    assert.deepEqual(operation.sent, ['a b c', 'next'])
  })
})

describe('requests with the same key', () => {
  it('are done one after another in the order of their arrival, and others do not wait for them', async () => {
    const operation = new FakeOperation(3)
    await operation.send(...keyed('1a 2a 1b 1c 3a 2b'))
    assert.deepEqual(operation.sent, ['1a 2a 3a'])
    await operation.send(...keyed('4a 1d 5a'))
    await operation.finish('4a')
    assert.deepEqual(operation.sent.slice(1), ['4a 5a'])
    await operation.finish('1a')
    assert.deepEqual(operation.sent.slice(2), ['1b 2b'])
    await operation.finish('1b', '1c')
    assert.deepEqual(operation.sent.slice(3), ['1c', '1d'])
  })

  for (const error of [undefined, UNCERTAIN])
    it(`are not done while the first is done alone, whatever comes of it: ${error?.message}`, async () => {
      const operation = new FakeOperation(2)
      await operation.send(...keyed('1a 1b 2a'))
      await operation.leaveUndone('1a')
      const [, other] = await operation.send(...keyed('1c 2b'))
      await operation.finish('2b')
      assert.equal(other?.value, '2b together')
      assert.deepEqual(operation.sent, ['1a 2a', '1a', '2b'])
      if (error === undefined) await operation.finish('1a')
      else await operation.fail('1a', error)
      await operation.finish('1b')
      assert.deepEqual(operation.sent.slice(3), ['1b', '1c'])
    })

  it('are done after the first one’s batch failed and was repeated', async () => {
    const operation = new FakeOperation(2)
    await operation.send(...keyed('1a 2a'))
    await operation.send(...keyed('1b 2b'))
    await operation.fail('1a', REPEATABLE)
    await operation.finish('2a', '1a')
    assert.deepEqual(operation.sent, ['1a 2a', '1a', '2a', '2b', '1b'])
  })

  it('wait for the first even if it is refused at its deadline, because it is still under way', async () => {
    const operation = new FakeOperation(2)
    const [first] = await operation.send(...keyed('1a 2a'))
    await pass(3000)
    const [second] = await operation.send(...keyed('1b'))
    await pass(1000 + MORE_TIME)
    assertRefused(first, LATE)
    await operation.send(...keyed('3a'))
    assert.deepEqual(operation.sent, ['1a 2a', '3a'])
    await operation.fail('1a', UNCERTAIN)
    await operation.finish('1b')
    assert.equal(second?.value, '1b together')
  })
})

describe('the deadline of a request', () => {
  it('is four seconds after its own arrival, and one that waited is never done', async () => {
    const operation = new FakeOperation()
    await operation.send('block')
    const [first] = await operation.send('first')
    await pass(1000)
    const [second] = await operation.send('second')
    for (const [request, rest] of [
      [first, 2999],
      [second, 999],
    ] as const) {
      await pass(rest)
      assert.equal(request?.state, 'pending')
      await pass(1)
      assertRefused(request, WAITED)
    }
    assert.equal(operation.batcher.waiting, 0)
    await operation.finish('block')
    await operation.send('next')
    assert.deepEqual(operation.sent, ['block', 'next'])
  })

  it('refuses one under way a little later, together or alone, of which it is not known what came of it', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b')
    await pass(1000)
    await operation.leaveUndone('a')
    requests.push(...(await operation.send('c')))
    await pass(DEADLINE - 1000 + MORE_TIME - 1)
    assert.deepEqual(outcomesOf(requests), ['pending', 'b together', 'pending'])
    await pass(1)
    assertRefused(requests[0], LATE)
    await pass(1000 + MORE_TIME)
    assertRefused(requests[2], LATE)
    await operation.finish('a')
    assertRefused(requests[0], LATE)
  })

  it('leaves no timer behind', async () => {
    mock.timers.reset()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const operation = new FakeOperation()
    await operation.send('a', 'b')
    await operation.leaveUndone('b')
    await operation.finish('b')
    await operation.send('a', 'b')
    await operation.fail('a', REPEATABLE)
    await operation.finish('a')
    await operation.fail('b', UNCERTAIN)
    await operation.send('a', 'b')
    assert.equal(timers(), before + 2)
    await operation.fail('a', UNCERTAIN)
    assert.equal(timers(), before)
  })
})

describe('requests that wait', () => {
  it('are at most 5000, with 32 Mi code units of text: any more are refused at once', async () => {
    for (const [count, length, more] of [
      [MAX_WAITING, 0, 0],
      [MAX_WAITING_TEXT / PART, PART, 1],
    ] as const) {
      const operation = new FakeOperation()
      await operation.send('first')
      const waiting = await operation.send(...many(count, { length }))
      const [refused] = await operation.send({ name: 'one too many', length: more })
      assertRefused(refused, TOO_MANY)
      assert.deepEqual(new Set(outcomesOf(waiting)), new Set(['pending']))
      await operation.finish('first')
      const [next] = await operation.send({ name: 'next', length })
      assert.equal(next?.state, 'pending')
    }
  })

  it('make room for others when their time is over', async () => {
    const operation = new FakeOperation()
    await operation.send('block')
    await operation.send(...many(MAX_WAITING, { length: Math.floor(MAX_WAITING_TEXT / MAX_WAITING) }))
    await pass(DEADLINE)
    const next = await operation.send(...many(MAX_WAITING_TEXT / PART, { length: PART }))
    assert.equal(next.at(-1)?.state, 'pending')
  })
})
