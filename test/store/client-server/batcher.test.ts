import assert from 'node:assert/strict'
import { beforeEach, describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { Batcher } from '../../../src/store/client-server/batcher.ts'
import { DEADLINE, mockTime, pass, settle, type Watched, watch } from './fake-driver.ts'

const MAX_WAITING = 5000
const MAX_BATCH = 128
/** A part of a batch, in code units. */
const PART = 32 * 1024
const MAX_BATCH_TEXT = 256 * 1024
const MAX_WAITING_TEXT = 32 * 1024 * 1024

/** The error of a batch that has certainly done nothing. */
const REPEATABLE = new Error('refused')
/** The error of a batch of which nobody knows what it has done. */
const UNCERTAIN = new Error('connection lost')
/** The error of a server that does not know the statement for several requests. */
const UNKNOWN = new Error('syntax error')

interface Request {
  readonly name: string
  readonly key?: number
  readonly shape?: string
  readonly length?: number
}

/** What the batcher has sent: a batch, or one request alone. It ends when the test says so. */
interface Sent {
  /** The names of the requests. */
  readonly names: readonly string[]
  readonly time: number
  /** @param undone the names of the requests that a batch leaves undone. */
  finish(undone: readonly string[]): void
  fail(error: Error): void
}

/** An operation on nothing, and the batcher for it. */
class FakeOperation {
  readonly #sent: Sent[] = []
  /** The sizes of batches that were told. */
  readonly sizes: number[] = []
  readonly #batcher: Batcher<Request, string>

  constructor(batches = 1) {
    this.#batcher = new Batcher<Request, string>(
      {
        together: (take, time) => {
          const names = take().requests.map(({ name }) => name)
          return this.#send(names, time, (undone) =>
            names.map((name) => (undone.includes(name) ? undefined : { result: `${name} together` })),
          )
        },
        alone: ({ name }, time) => this.#send([name], time, () => `${name} alone`),
        isRepeatable: (error) =>
          error === REPEATABLE || error === UNKNOWN || error instanceof StoreUnavailable,
        isUnknown: (error) => error === UNKNOWN,
        shapeOf: ({ shape = '' }) => shape,
        keyOf: ({ key }) => key as number,
        lengthOf: ({ length = 0 }) => length,
        isWrite: true,
        onBatch: (size) => this.sizes.push(size),
      },
      batches,
      DEADLINE,
    )
  }

  #send<Result>(names: readonly string[], time: number, result: (undone: readonly string[]) => Result) {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#sent.push({ names, time, finish: (undone) => resolve(result(undone)), fail: reject })
    return promise
  }

  /** The names of the requests in everything that has been sent. */
  get sent(): readonly (readonly string[])[] {
    return this.#sent.map(({ names }) => names)
  }

  get waiting(): number {
    return this.#batcher.waiting
  }

  do(request: Request | string): Watched<string> {
    return watch(this.#batcher.do(typeof request === 'string' ? { name: request } : request))
  }

  /** Sends requests of one turn. */
  async send(...requests: readonly (Request | string)[]): Promise<Watched<string>[]> {
    const watched = requests.map((request) => this.do(request))
    await settle()
    return watched
  }

  /** The time of what has been sent last with this request. */
  timeOf(name: string): number {
    return this.#of(name).time
  }

  /** What has been sent last with this request ends well. */
  async finish(name: string, undone: readonly string[] = []): Promise<void> {
    this.#of(name).finish(undone)
    await settle()
  }

  async fail(name: string, error: Error): Promise<void> {
    this.#of(name).fail(error)
    await settle()
  }

  #of(name: string): Sent {
    const sent = this.#sent.findLast(({ names }) => names.includes(name))
    assert.ok(sent, `${name} has not been sent`)
    return sent
  }
}

const namesFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => `${first + i}`)

const many = (count: number, request: Omit<Request, 'name'> = {}, first = 1): Request[] =>
  namesFrom(first, count).map((name) => ({ ...request, name }))

/** Requests named by their key and a letter. */
const keyed = (...names: string[]) => names.map((name) => ({ name, key: Number(name[0]) }))

/** What became of each request. */
const outcomesOf = (requests: readonly Watched<string>[]) =>
  requests.map(({ value, error }) => value ?? error)

/** How much longer a request under way waits, in milliseconds. */
const MORE_TIME = 50

const WAITED = /before this one/
const LATE = /^the database server did not answer within 4 seconds, and it is not known/

function assertRefused(request: Watched<string> | undefined, message: RegExp): void {
  assert.ok(request?.error instanceof StoreUnavailable, String(request?.error))
  assert.match(request.error.message, message)
  assert.equal(request.error.nothingWritten, message !== LATE)
  assert.equal(request.error.reason, /too many/.test(request.error.message) ? 'overload' : 'timeout')
}

beforeEach(mockTime)

describe('a batch', () => {
  it('is sent at the end of the turn in which its requests arrive, without any other wait', async () => {
    const operation = new FakeOperation()
    const first = operation.do('a')
    await Promise.resolve()
    const second = operation.do('b')
    assert.deepEqual(operation.sent, [])
    await settle()
    assert.deepEqual(operation.sent, [['a', 'b']])
    assert.equal(operation.timeOf('a'), DEADLINE)
    await operation.finish('a')
    assert.deepEqual(outcomesOf([first, second]), ['a together', 'b together'])
  })

  it('is one of so many at a time; the next has all requests that arrived meanwhile, and is sent at once', async () => {
    const operation = new FakeOperation(2)
    const requests: Watched<string>[] = []
    for (const name of ['a', 'b', 'c', 'd']) requests.push(...(await operation.send(name)))
    assert.deepEqual(operation.sent, [['a'], ['b']])
    assert.equal(operation.waiting, 2)
    await operation.finish('b')
    assert.deepEqual(operation.sent.slice(2), [['c', 'd']])
    assert.equal(operation.waiting, 0)
    await operation.fail('c', UNCERTAIN)
    await operation.send('e')
    await operation.send('one too many')
    assert.deepEqual(operation.sent.slice(3), [['e']])
    assert.deepEqual(outcomesOf(requests), [undefined, 'b together', UNCERTAIN, UNCERTAIN])
  })

  it(`has at most ${MAX_BATCH} requests`, async () => {
    const operation = new FakeOperation(2)
    await operation.send(...many(MAX_BATCH))
    await operation.send(...many(MAX_BATCH + 1, {}, MAX_BATCH + 1))
    assert.deepEqual(operation.sent, [namesFrom(1, MAX_BATCH), namesFrom(MAX_BATCH + 1, MAX_BATCH)])
    await operation.finish('1')
    assert.deepEqual(operation.sent[2], [`${2 * MAX_BATCH + 1}`])
    assert.deepEqual(operation.sizes, [MAX_BATCH, MAX_BATCH, 1])
  })

  it('has at most 256 Ki code units of text; a request that is longer is sent by itself, in its turn', async () => {
    const operation = new FakeOperation()
    await operation.send('first')
    const full = MAX_BATCH_TEXT / PART
    await operation.send(
      ...many(2 * full - 1, { length: PART }),
      { name: 'fits', length: PART - 1 },
      { name: 'too long by one', length: 2 },
      { name: 'long', length: MAX_BATCH_TEXT + 1 },
      'next',
    )
    for (const name of ['first', '1', 'fits', 'too long by one', 'long']) await operation.finish(name)
    assert.deepEqual(operation.sent.slice(1), [
      namesFrom(1, full),
      [...namesFrom(full + 1, full - 1), 'fits'],
      ['too long by one'],
      ['long'],
      ['next'],
    ])
  })

  it('has requests of one shape', async () => {
    const operation = new FakeOperation()
    const shaped = (name: string, key: number) => ({ name, key, shape: name[0] ?? '' })
    await operation.send(shaped('a1', 1), shaped('b2', 2), shaped('a2', 2), shaped('a3', 3), shaped('b3', 3))
    for (const name of ['a1', 'b2', 'a2']) await operation.finish(name)
    assert.deepEqual(operation.sent, [['a1', 'a3'], ['b2', 'b3'], ['a2']])
  })
})

describe('what a batch leaves undone', () => {
  it('is done alone in the time that each request still has, while the next batch is under way', async () => {
    const operation = new FakeOperation()
    await operation.send('block')
    const requests = await operation.send('a')
    await pass(1000)
    requests.push(...(await operation.send('b', 'c')))
    await pass(500)
    await operation.finish('block')
    assert.equal(operation.timeOf('a'), DEADLINE - 500)
    await operation.send('next')
    await pass(250)
    await operation.finish('a', ['a', 'b'])
    assert.deepEqual(operation.sent.slice(2), [['a'], ['b'], ['next']])
    assert.deepEqual(outcomesOf(requests), [undefined, undefined, 'c together'])
    assert.deepEqual([operation.timeOf('a'), operation.timeOf('b')], [DEADLINE - 1750, DEADLINE - 750])
    await operation.finish('b')
    await operation.fail('a', REPEATABLE)
    assert.deepEqual(outcomesOf(requests), [REPEATABLE, 'b alone', 'c together'])
    assert.equal(operation.sent.length, 5)
  })

  it('is not what has a result, even if that is undefined', async () => {
    const batcher = new Batcher<number, number | undefined>(
      {
        together: async (take) =>
          take().requests.map((request) => (request === 1 ? { result: undefined } : undefined)),
        alone: async (request) => -request,
        isRepeatable: () => true,
        isWrite: true,
        onBatch: () => {},
      },
      1,
      DEADLINE,
    )
    const results = await Promise.all([1, 2, 1, 3].map((request) => batcher.do(request)))
    assert.deepEqual(results, [undefined, -2, undefined, -3])
  })

  it('is repeated without the requests whose time is over, and has that of the first of the others', async () => {
    const attempts: [readonly string[], number][] = []
    const repeat = Promise.withResolvers<void>()
    const batcher = new Batcher<string, string>(
      {
        together: async (take) => {
          const first = take()
          await repeat.promise
          const second = take()
          for (const { requests, end } of [first, second]) attempts.push([requests, end])
          return second.requests.map((request) => ({ result: `${request} done` }))
        },
        alone: () => new Promise(() => {}),
        isRepeatable: () => true,
        isWrite: true,
        onBatch: () => {},
      },
      1,
      DEADLINE,
    )
    const early = watch(batcher.do('early'))
    mock.timers.tick(50)
    const late = watch(batcher.do('late'))
    await settle()
    await pass(DEADLINE - 50)
    repeat.resolve()
    await settle()
    assert.deepEqual(attempts, [
      [['early', 'late'], DEADLINE],
      [['late'], DEADLINE + 50],
    ])
    assert.equal(late.value, 'late done')
    assertRefused(early, WAITED)
  })

  it('is not begun when its time is over', async () => {
    const operation = new FakeOperation()
    const [early] = await operation.send('early', 'other')
    await pass(DEADLINE)
    await operation.finish('early', ['early'])
    assertRefused(early, WAITED)
    const requests = await operation.send('a', 'b')
    await pass(DEADLINE)
    await operation.fail('a', REPEATABLE)
    for (const request of requests) assertRefused(request, WAITED)
    assert.equal(operation.sent.length, 2)
    const [told] = await operation.send('c')
    await pass(DEADLINE)
    const why = new StoreUnavailable('no connection', { nothingWritten: true })
    await operation.fail('c', why)
    assert.equal(told?.error, why)
  })
})

describe('a batch that fails', () => {
  it('is repeated request by request if it has certainly done nothing, and each has its own outcome', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b', 'c')
    await pass(1000)
    await operation.fail('a', REPEATABLE)
    assert.deepEqual(operation.sent.slice(1), [['a'], ['b'], ['c']])
    assert.equal(operation.timeOf('a'), DEADLINE - 1000)
    await operation.fail('b', REPEATABLE)
    await operation.finish('c')
    await operation.finish('a')
    assert.deepEqual(outcomesOf(requests), ['a alone', REPEATABLE, 'c alone'])
    assert.equal(operation.sent.length, 4)
  })

  it('is not tried again if the server does not know the statement: from then on all are done alone at once', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b')
    await operation.fail('a', UNKNOWN)
    await operation.finish('a')
    await operation.finish('b')
    requests.push(...(await operation.send('c', 'd')))
    for (const name of ['c', 'd']) await operation.finish(name)
    assert.deepEqual(outcomesOf(requests), ['a alone', 'b alone', 'c alone', 'd alone'])
    assert.deepEqual(operation.sent, [['a', 'b'], ['a'], ['b'], ['c'], ['d']])
  })

  it('fails each of its requests, and repeats none, if it may have done them', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b', 'c')
    await operation.send('next')
    await operation.fail('a', UNCERTAIN)
    assert.deepEqual(outcomesOf(requests), [UNCERTAIN, UNCERTAIN, UNCERTAIN])
    assert.deepEqual(operation.sent, [['a', 'b', 'c'], ['next']])
  })
})

describe('requests with the same key', () => {
  it('are done one after another in the order of their arrival, and others do not wait for them', async () => {
    const operation = new FakeOperation(3)
    const requests = await operation.send(...keyed('1a', '2a', '1b', '1c', '3a', '2b'))
    assert.deepEqual(operation.sent, [['1a', '2a', '3a']])
    requests.push(...(await operation.send(...keyed('4a', '1d', '5a'))))
    assert.deepEqual(operation.sent.slice(1), [['4a', '5a']])
    await operation.finish('4a')
    assert.equal(operation.sent.length, 2)
    await operation.finish('1a')
    assert.deepEqual(operation.sent.slice(2), [['1b', '2b']])
    for (const name of ['1b', '1c', '1d']) await operation.finish(name)
    assert.deepEqual(operation.sent.slice(3), [['1c'], ['1d']])
    for (const { state } of requests) assert.equal(state, 'fulfilled')
  })

  for (const error of [undefined, UNCERTAIN])
    it(`are not done while the first is done alone, whatever comes of it: ${error?.message}`, async () => {
      const operation = new FakeOperation(2)
      await operation.send(...keyed('1a', '1b', '2a'))
      await operation.finish('1a', ['1a'])
      const [, other] = await operation.send(...keyed('1c', '2b'))
      await operation.finish('2b')
      assert.equal(other?.value, '2b together')
      assert.deepEqual(operation.sent, [['1a', '2a'], ['1a'], ['2b']])
      if (error === undefined) await operation.finish('1a')
      else await operation.fail('1a', error)
      await operation.finish('1b')
      assert.deepEqual(operation.sent.slice(3), [['1b'], ['1c']])
    })

  it('are done after the first one’s batch failed', async () => {
    const operation = new FakeOperation(2)
    await operation.send(...keyed('1a', '2a'))
    await operation.send(...keyed('1b', '2b'))
    await operation.fail('1a', REPEATABLE)
    assert.deepEqual(operation.sent.slice(1), [['1a'], ['2a']])
    await operation.finish('2a')
    await operation.finish('1a')
    assert.deepEqual(operation.sent.slice(3), [['2b'], ['1b']])
  })

  it('wait for the first even if it is refused at its deadline, because it is still under way', async () => {
    const operation = new FakeOperation(2)
    const [first] = await operation.send(...keyed('1a', '2a'))
    await pass(3000)
    const [second] = await operation.send(...keyed('1b'))
    await pass(1000 + MORE_TIME)
    assertRefused(first, LATE)
    await operation.send(...keyed('3a'))
    assert.deepEqual(operation.sent, [['1a', '2a'], ['3a']])
    await operation.fail('1a', UNCERTAIN)
    assert.deepEqual(operation.sent.slice(2), [['1b']])
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
    await pass(2999)
    assert.equal(first?.state, 'pending')
    await pass(1)
    assertRefused(first, WAITED)
    await pass(999)
    assert.equal(second?.state, 'pending')
    await pass(1)
    assertRefused(second, WAITED)
    assert.equal(operation.waiting, 0)
    await operation.finish('block')
    await operation.send('next')
    assert.deepEqual(operation.sent, [['block'], ['next']])
  })

  it('refuses one under way, together or alone, of which it is not known what came of it', async () => {
    const operation = new FakeOperation()
    const requests = await operation.send('a', 'b')
    await pass(1000)
    await operation.finish('a', ['a'])
    await operation.send('c')
    await pass(DEADLINE - 1000 + MORE_TIME - 1)
    assert.equal(requests[0]?.state, 'pending')
    await pass(1)
    assertRefused(requests[0], LATE)
    await operation.finish('a')
    assert.equal(requests[0]?.state, 'rejected')
  })

  it('leaves no timer behind', async () => {
    mock.timers.reset()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const operation = new FakeOperation()
    await operation.send('a', 'b')
    await operation.finish('a', ['b'])
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
  it('are at most 5000: any more are refused at once', async () => {
    const operation = new FakeOperation()
    await operation.send('first')
    await operation.send(...many(MAX_WAITING))
    const [refused] = await operation.send('one too many')
    assertRefused(refused, /too many/)
    await operation.finish('first')
    await operation.send('next')
    for (let name = 1; name <= MAX_WAITING; name += MAX_BATCH) await operation.finish(`${name}`)
    assert.deepEqual(operation.sent.flat(), ['first', ...namesFrom(1, MAX_WAITING), 'next'])
  })

  it('have at most 32 Mi code units of text: any more are refused at once', async () => {
    const operation = new FakeOperation()
    await operation.send('first')
    await operation.send(...many(MAX_WAITING_TEXT / PART, { length: PART }))
    const [refused] = await operation.send({ name: 'one too many', length: 1 })
    const [empty] = await operation.send('empty')
    assertRefused(refused, /too many/)
    assert.equal(empty?.state, 'pending')
    await operation.finish('first')
    const [next] = await operation.send({ name: 'next', length: PART })
    assert.equal(next?.state, 'pending')
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
