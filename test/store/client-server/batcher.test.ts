import assert from 'node:assert/strict'
import { beforeEach, describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { Batcher } from '../../../src/store/client-server/batcher.ts'
import { DEADLINE, mockTime, pass, settle } from './fake-driver.ts'

const MAX_WAITING = 5000
const MAX_BATCH = 128
const MAX_BATCH_TEXT = 256 * 1024
const MAX_WAITING_TEXT = 32 * 1024 * 1024
/** The length of many texts that fill a batch, or the queue. */
const PART = 32 * 1024

/** The errors of a batch that has certainly done nothing, of which nobody knows, and that the server does not know. */
const ERRORS: Readonly<Record<string, Error>> = {
  refused: new Error('refused'),
  lost: new Error('lost'),
  unknown: new Error('unknown'),
  unavailable: new StoreUnavailable('unavailable', { nothingWritten: true }),
}

/** How requests that were not done in time are told apart: the message, and whether certainly nothing was written. */
const REFUSALS: readonly (readonly [string, RegExp, StoreUnavailable['reason'], boolean])[] = [
  ['waited', /before this one within 4 seconds$/, 'timeout', true],
  ['late', /^the database server did not answer within 4 seconds, and it is not known/, 'timeout', false],
  ['too many', /too many/, 'overload', true],
]

interface Request {
  readonly name: string
  readonly key?: number
  readonly shape?: string
  readonly length?: number
}

/** What the batcher has sent: a batch, or one request alone. It ends when the test says so. */
interface Sent {
  names: readonly string[]
  /** Takes the requests of a batch again. @returns their deadline. */
  take(): number
  /** @param undone the names of the requests that a batch leaves undone. */
  finish(undone: readonly string[]): void
  fail(error: Error | undefined): void
}

/** An operation on nothing, and the batcher for it. */
class FakeOperation {
  readonly #sent: Sent[] = []
  /** What was sent, such as `[a b]`, with its time in milliseconds if it has less than all; and how requests ended. */
  readonly events: string[] = []
  /** The sizes of batches that were told. */
  readonly sizes: number[] = []
  readonly batcher: Batcher<Request, string | undefined>

  constructor(batches = 1) {
    const operation: ConstructorParameters<typeof Batcher<Request, string | undefined>>[0] = {
      together: (take, time) =>
        this.#send(take, time, (names, undone) =>
          names.map((name) => {
            if (undone.includes(name)) return undefined
            return { result: name === 'nothing' ? undefined : 'together' }
          }),
        ),
      alone: (request, time) =>
        this.#send(
          () => ({ requests: [request], end: 0 }),
          time,
          () => 'alone',
        ),
      isRepeatable: (error) => error !== ERRORS.lost,
      isUnknown: (error) => error === ERRORS.unknown,
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
    const sent: Sent = {
      names: [],
      take,
      finish: (undone) => resolve(result(sent.names, undone)),
      fail: reject,
    }
    take()
    this.#sent.push(sent)
    this.events.push(`[${sent.names.join(' ')}]${time === DEADLINE ? '' : time}`)
    return promise
  }

  do(request: Request): void {
    this.batcher.do(request).then(
      (result) => this.events.push(`${request.name}=${result}`),
      (error: unknown) => this.events.push(`${request.name}=${nameOf(error)}`),
    )
  }

  /** Sends requests of one turn. */
  async send(...requests: readonly Request[]): Promise<void> {
    for (const request of requests) this.do(request)
    await settle()
  }

  /** What has been sent last with this request. */
  of(name = ''): Sent {
    const sent = this.#sent.findLast(({ names }) => names.includes(name))
    assert.ok(sent, `${name} has not been sent`)
    return sent
  }

  async finish(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.of(name).finish([])
      await settle()
    }
  }
}

function nameOf(error: unknown): string {
  const known = Object.values(ERRORS).find((each) => each === error)
  if (known !== undefined) return known.message
  assert.ok(error instanceof StoreUnavailable, String(error))
  const { message, reason, nothingWritten } = error
  const refusal = REFUSALS.find(([, says, why, nothing]) => {
    return says.test(message) && reason === why && nothingWritten === nothing
  })
  return refusal?.[0] ?? String(error)
}

/** A request by its name, which may begin with its key. */
const named = (name: string): Request => ({ name, ...(/^\d/.test(name) && { key: Number(name[0]) }) })

/**
 * Plays steps, one a line, and compares what happens at each, which is behind the arrow: `send`, then the requests of a
 * turn; `pass`, then milliseconds; `done` with a request of what ends well; `undone` with those of a batch that are left
 * undone; or the name of an error. `batches` comes first if several may be under way.
 */
async function play(steps: string): Promise<void> {
  let operation = new FakeOperation()
  for (const line of steps.trim().split('\n')) {
    operation.events.splice(0)
    const [step = '', expected = ''] = line.trim().split(' -> ')
    const [verb = '', ...names] = step.split(' ')
    if (verb === 'batches') operation = new FakeOperation(Number(names[0]))
    else if (verb === 'send') await operation.send(...names.map(named))
    else if (verb === 'pass') await pass(Number(names[0]))
    else if (verb === 'done') operation.of(names[0]).finish([])
    else if (verb === 'undone') operation.of(names[0]).finish(names)
    else operation.of(names[0]).fail(ERRORS[verb])
    await settle()
    assert.equal(operation.events.join(' '), expected, step)
  }
}

const many = (count: number, request: Omit<Request, 'name'> = {}): Request[] =>
  Array.from({ length: count }, (_, i) => ({ ...request, name: `${i + 1}` }))

const batch = (first: number, last: number, more = '') =>
  `[${Array.from({ length: last - first + 1 }, (_, i) => first + i).join(' ')}${more}]`

beforeEach(mockTime)

describe('a batch', () => {
  it('is sent at the end of the turn in which its requests arrive, without any other wait', async () => {
    const operation = new FakeOperation()
    operation.do({ name: 'a' })
    await Promise.resolve()
    operation.do({ name: 'b' })
    assert.deepEqual(operation.events, [])
    await settle()
    assert.deepEqual(operation.events, ['[a b]'])
  })

  it('is one of so many at a time; the next has all requests that arrived meanwhile, and is sent at once', () =>
    play(`
      batches 2
      send a -> [a]
      send b -> [b]
      send c
      send d
      done b -> [c d] b=together
      lost c -> c=lost d=lost
      send e nothing -> [e nothing]
      send f
      done nothing -> [f] e=together nothing=undefined`))

  it(`has at most ${MAX_BATCH} requests, and tells how many`, async () => {
    const operation = new FakeOperation()
    await operation.send(...many(2 * MAX_BATCH + 1))
    await operation.finish('1', `${MAX_BATCH + 1}`)
    const sent = operation.events.filter((event) => event.startsWith('['))
    assert.deepEqual(sent, [batch(1, 128), batch(129, 256), '[257]'])
    assert.deepEqual(operation.sizes, [MAX_BATCH, MAX_BATCH, 1])
  })

  it('has at most 256 Ki code units of text; a request that is longer is sent by itself, in its turn', async () => {
    const operation = new FakeOperation()
    const full = MAX_BATCH_TEXT / PART
    await operation.send(
      ...many(2 * full - 1, { length: PART }),
      { name: 'fits', length: PART - 1 },
      { name: 'too-long-by-one', length: 2 },
      { name: 'long', length: MAX_BATCH_TEXT + 1 },
      { name: 'next' },
    )
    await operation.finish('1', 'fits', 'too-long-by-one', 'long')
    const sent = operation.events.filter((event) => event.startsWith('['))
    const second = batch(full + 1, 2 * full - 1, ' fits')
    assert.deepEqual(sent, [batch(1, full), second, '[too-long-by-one]', '[long]', '[next]'])
  })

  it('has requests of one shape', async () => {
    const operation = new FakeOperation()
    const shaped = (name: string) => ({ name, key: Number(name[1]), shape: name[0] ?? '' })
    await operation.send(...['a1', 'b2', 'a2', 'a3', 'b3'].map(shaped))
    await operation.finish('a1', 'b2', 'a2')
    const sent = operation.events.filter((event) => event.startsWith('['))
    assert.deepEqual(sent, ['[a1 a3]', '[b2 b3]', '[a2]'])
  })

  it('that is repeated leaves out requests whose time is over, and has that of the first of the others', async () => {
    const operation = new FakeOperation()
    operation.do({ name: 'early' })
    mock.timers.tick(50)
    await operation.send({ name: 'late' })
    const { take } = operation.of('late')
    assert.equal(take(), DEADLINE)
    await pass(DEADLINE - 50)
    assert.deepEqual([take(), operation.of('late').names], [DEADLINE + 50, ['late']])
    await operation.finish('late')
    assert.deepEqual(operation.events.slice(1), ['early=waited', 'late=together'])
  })
})

describe('a request', () => {
  it('that a batch leaves undone is done alone in the time that it still has, while the next batch is under way', () =>
    play(`
      send x -> [x]
      send a
      pass 1000
      send b c
      pass 500
      done x -> [a b c]3500 x=together
      send d
      pass 250
      undone a b -> [a]2250 [b]3250 [d]3750 c=together
      done b -> b=alone
      refused a -> a=refused`))

  it('of a batch that has certainly done nothing is repeated alone, and has its own outcome', () =>
    play(`
      send a b c -> [a b c]
      pass 1000
      refused a -> [a]3000 [b]3000 [c]3000
      refused b -> b=refused
      done c -> c=alone
      done a -> a=alone`))

  it('is from then on done alone at once if the server does not know the statement for several', () =>
    play(`
      send a b -> [a b]
      unknown a -> [a] [b]
      send c d -> [c] [d]
      done a -> a=alone
      done d -> d=alone`))

  it('of a batch that may have done it fails, and is not repeated', () =>
    play(`
      send a b c -> [a b c]
      send d
      lost a -> [d] a=lost b=lost c=lost`))

  for (const [end, outcome] of [
    ['undone a b', 'waited'],
    ['refused a', 'waited'],
    ['unavailable a', 'unavailable'],
  ] as const)
    it(`is not done alone when its time is over: ${end}`, () =>
      play(`
      send a b -> [a b]
      pass ${DEADLINE}
      ${end} -> a=${outcome} b=${outcome}`))
})

describe('requests with the same key', () => {
  it('are done one after another in the order of their arrival, and others do not wait for them', () =>
    play(`
      batches 3
      send 1a 2a 1b 1c 3a 2b -> [1a 2a 3a]
      send 4a 1d 5a -> [4a 5a]
      done 4a -> 4a=together 5a=together
      done 1a -> [1b 2b] 1a=together 2a=together 3a=together
      done 1b -> [1c] 1b=together 2b=together
      done 1c -> [1d] 1c=together`))

  for (const [end, outcome] of [
    ['done', 'alone'],
    ['lost', 'lost'],
  ] as const)
    it(`are not done while the first is done alone, whatever comes of it: ${end}`, () =>
      play(`
      batches 2
      send 1a 1b 2a -> [1a 2a]
      undone 1a -> [1a] 2a=together
      send 1c 2b -> [2b]
      done 2b -> 2b=together
      ${end} 1a -> [1b] 1a=${outcome}
      done 1b -> [1c] 1b=together`))

  it('are done after the first one’s batch failed and was repeated', () =>
    play(`
      batches 2
      send 1a 2a -> [1a 2a]
      send 1b 2b
      refused 1a -> [1a] [2a]
      done 2a -> [2b] 2a=alone
      done 1a -> [1b] 1a=alone`))

  it('wait for the first even if it is refused at its deadline, because it is still under way', () =>
    play(`
      batches 2
      send 1a 2a -> [1a 2a]
      pass 3000
      send 1b
      pass 1050 -> 1a=late 2a=late
      send 3a -> [3a]
      lost 1a -> [1b]2950
      done 1b -> 1b=together`))
})

describe('the deadline of a request', () => {
  it('is four seconds after its own arrival, and one that waited is never done', () =>
    play(`
      send x -> [x]
      send a
      pass 1000
      send b
      pass 2999
      pass 1 -> a=waited
      pass 999 -> x=late
      pass 1 -> b=waited
      done x
      send c -> [c]`))

  it('is a little later for one under way, together or alone, of which it is not known what came of it', () =>
    play(`
      send a b -> [a b]
      pass 1000
      undone a -> [a]3000 b=together
      send c -> [c]
      pass 3049
      pass 1 -> a=late
      pass 1050 -> c=late
      done a`))

  it('leaves no timer behind', async () => {
    mock.timers.reset()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const operation = new FakeOperation()
    const both = () => operation.send({ name: 'a' }, { name: 'b' })
    await both()
    operation.of('a').finish(['b'])
    await settle()
    await operation.finish('b')
    await both()
    operation.of('a').fail(ERRORS.refused)
    await settle()
    await operation.finish('a', 'b')
    await both()
    assert.equal(timers(), before + 2)
    operation.of('a').fail(ERRORS.lost)
    await settle()
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
      await operation.send({ name: 'first' })
      await operation.send(...many(count, { length }))
      await operation.send({ name: 'more', length: more })
      assert.deepEqual(operation.events, ['[first]', 'more=too many'])
      await operation.finish('first')
      await operation.send({ name: 'next', length })
      assert.ok(!operation.events.includes('next=too many'))
    }
  })

  it('make room for others when their time is over', async () => {
    const operation = new FakeOperation()
    await operation.send({ name: 'first' })
    await operation.send(...many(MAX_WAITING, { length: Math.floor(MAX_WAITING_TEXT / MAX_WAITING) }))
    await pass(DEADLINE)
    operation.events.splice(0)
    await operation.send(...many(MAX_WAITING_TEXT / PART, { length: PART }))
    assert.deepEqual(operation.events, [])
  })
})
