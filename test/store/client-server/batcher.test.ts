import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { Batcher } from '../../../src/store/client-server/batcher.ts'
import { DEADLINE, driver, newPool, pass, settle, useDriver, watch } from './fake-driver.ts'

const MAX_WAITING = 5000
const MAX_BATCH_TEXT = 256 * 1024
const MAX_WAITING_TEXT = 32 * 1024 * 1024
/** The length of many texts that fill a batch, or the queue. */
const PART = 32 * 1024

/** The errors of a batch that has certainly done nothing, of which nobody knows, and that the server does not know. */
const ERRORS: Readonly<Record<string, Error>> = {
  refused: new Error('refused'),
  lost: new Error('lost'),
  unknown: new Error('unknown'),
  unavailable: new StoreUnavailable('unavailable', { reason: 'disk', nothingWritten: true }),
}

interface Request {
  readonly name: string
  readonly key?: number
  readonly shape?: string
  readonly length?: number
}

/** A batch that was sent, or one request alone. It ends when the test says so. */
interface Sent {
  names: readonly string[]
  /** After this time of `Date.now()`, nothing may be written. */
  end: number
  /** Makes another attempt. */
  again(): void
  /** Takes the names of those that are left undone. */
  readonly ended: PromiseWithResolvers<readonly string[]>
}

type FakeBatcher = typeof Batcher<Sent, Request, string>

/** A batcher for an operation on nothing. */
class FakeOperation {
  readonly #sent: Sent[] = []
  /**
   * What was sent, such as `[a b]`, and how requests ended. If there was less than all the time, the milliseconds
   * follow: until nothing may be written, and until the batch is given up.
   */
  readonly events: string[] = []
  readonly #batcher: InstanceType<FakeBatcher>

  constructor(batches = 1) {
    const pool: ConstructorParameters<FakeBatcher>[0] = {
      timeout: DEADLINE,
      notConnected: () => assert.fail('it waits for no connection'),
      hasDoneNothing: (error) => error !== ERRORS.lost,
      isUnknownSyntax: (error) => error === ERRORS.unknown,
      run: async (work, { time } = {}) => {
        const sent: Sent = { names: [], end: 0, again: () => {}, ended: Promise.withResolvers() }
        let attempt = work(sent, 0)
        sent.again = () => {
          attempt = work(sent, 0)
        }
        this.#sent.push(sent)
        const times = new Set([sent.end - Date.now(), time].filter((each) => each !== DEADLINE))
        this.events.push(`[${sent.names.join(' ')}]${[...times]}`)
        await sent.ended.promise.catch(() => {})
        return attempt
      },
    }
    const operation: ConstructorParameters<FakeBatcher>[1] = {
      kind: 'write',
      perform: async (sent, requests, end, alone) => {
        Object.assign(sent, { names: requests.map(({ name }) => name), end })
        const undone = await sent.ended.promise
        return requests.map(({ name }) => (undone.includes(name) ? undefined : alone ? 'alone' : 'together'))
      },
      shapeOf: ({ shape = '' }) => shape,
      keyOf: ({ key }) => key as number,
      lengthOf: ({ length = 0 }) => length,
    }
    this.#batcher = new Batcher(pool, operation, batches)
  }

  /** Sends requests of one turn. */
  async send(...requests: readonly Request[]): Promise<void> {
    for (const request of requests)
      this.#batcher.do(request).then(
        (result) => this.events.push(`${request.name}=${result}`),
        (error: Error) => this.events.push(`${request.name}=${nameOf(error)}`),
      )
    await settle()
  }

  /** What has been sent last with this request. */
  of(name = ''): Sent {
    const sent = this.#sent.findLast(({ names }) => names.includes(name))
    assert.ok(sent, `${name} has not been sent`)
    return sent
  }
}

/** The reason of a refusal, with `?` if something may have been written; of other errors, the message. */
function nameOf(error: Error): string {
  if (!(error instanceof StoreUnavailable)) return error.message
  return `${error.reason}${error.nothingWritten ? '' : '?'}`
}

/** A request by its name, which may begin with its key and have its shape in the end: `1a` or `1a:title`. */
function named(text: string): Request {
  const [name = '', shape = ''] = text.split(':')
  return { name, shape, ...(/^\d/.test(name) && { key: Number(name[0]) }) }
}

/**
 * Plays steps, one a line, and compares what happens at each, which is behind the arrow: `send`, then the requests of a
 * turn; `pass`, then milliseconds; `again` with a request of what is tried again; `done` with a request of what ends
 * well; `undone` with those of a batch that are left undone; or the name of an error. `batches` comes first if several
 * may be under way.
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
    else if (verb === 'again') operation.of(names[0]).again()
    else if (verb === 'done') operation.of(names[0]).ended.resolve([])
    else if (verb === 'undone') operation.of(names[0]).ended.resolve(names)
    else operation.of(names[0]).ended.reject(ERRORS[verb])
    await settle()
    assert.equal(operation.events.join(' '), expected, step)
  }
}

const many = (count: number, length: number): Request[] =>
  Array.from({ length: count }, (_, i) => ({ length, name: `${i + 1}` }))

useDriver()

// That requests of one turn share a batch, of how many, and what becomes of them when one is refused:
// batches.test.ts.
describe('a batch', () => {
  it('is one of so many at a time; the next has all requests that arrived meanwhile, and is sent at once', () =>
    play(`
      batches 2
      send a -> [a]
      send b -> [b]
      send c
      send d
      done b -> [c d] b=together
      lost c -> c=lost d=lost
      send e -> [e]`))

  it('has at most 256 Ki code units of text; a request that is longer is sent by itself, in its turn', async () => {
    const operation = new FakeOperation()
    const full = MAX_BATCH_TEXT / PART
    await operation.send(...many(full, PART), { name: 'long', length: MAX_BATCH_TEXT + 1 }, { name: 'next' })
    for (const name of ['1', 'long']) {
      operation.of(name).ended.resolve([])
      await settle()
    }
    const sent = operation.events.filter((event) => event.startsWith('['))
    assert.deepEqual(sent, ['[1 2 3 4 5 6 7 8]', '[long]', '[next]'])
  })

  it('ends with the first deadline of its requests; a further attempt leaves out those whose time is over', () =>
    play(`
      send x -> [x]
      send early
      pass 50
      send late
      done x -> [early late]3950 x=together
      pass 3950
      again late
      done late -> early=timeout late=together`))
})

describe('a request', () => {
  it('that a batch leaves undone is done alone in the time that it still has, while the next batch is under way', () =>
    play(`
      send x -> [x]
      send a
      pass 1000
      send b c
      pass 500
      done x -> [a b c]2500,3500 x=together
      send d
      pass 250
      undone a b -> [a]2250 [b]3250 [d]3750 c=together
      done b -> b=alone
      refused a -> a=refused`))

  it('is from then on done alone at once if the server does not know the statement for several', () =>
    play(`
      send a b -> [a b]
      unknown a -> [a] [b]
      send c d -> [c] [d]
      done a -> a=alone
      done d -> d=alone`))

  for (const [end, outcome] of [
    ['undone a b', 'timeout'],
    ['refused a', 'timeout'],
    ['unavailable a', 'disk'],
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

  it('are so too while the first is done alone, and after it has failed', () =>
    play(`
      batches 2
      send 1a 1b 2a -> [1a 2a]
      undone 1a -> [1a] 2a=together
      send 1c 2b -> [2b]
      done 2b -> 2b=together
      lost 1a -> [1b] 1a=lost
      done 1b -> [1c] 1b=together`))

  it('are so too if they change other fields, and so cannot share a batch', () =>
    play(`
      send 1a:title 2b:year 2a:title 3a:title 3b:year -> [1a 3a]
      done 1a -> [2b 3b] 1a=together 3a=together
      done 2b -> [2a] 2b=together 3b=together`))

  it('wait for the first even if it is refused at its deadline, because it is still under way', () =>
    play(`
      batches 2
      send 1a 2a -> [1a 2a]
      pass 3000
      send 1b
      pass 1050 -> 1a=timeout? 2a=timeout?
      send 3a -> [3a]
      lost 1a -> [1b]2950
      done 1b -> 1b=together`))
})

it('the deadline of a request is four seconds after its own arrival, and one that waited is never done', () =>
  play(`
    send x -> [x]
    send a
    pass 1000
    send b
    pass 2999
    pass 1 -> a=timeout
    pass 999 -> x=timeout?
    pass 1 -> b=timeout
    done x
    send c -> [c]`))

it('one whose batch waits for a connection until its deadline is certainly not stored, and never sent', async () => {
  const connected = Promise.withResolvers<void>()
  driver.connecting = () => connected.promise
  const perform = async (_: unknown, requests: readonly string[]) => requests
  const keyOf = (request: string) => request.length
  const batcher = new Batcher(newPool(1), { kind: 'write', perform, keyOf })
  const send = (request: string) => watch(batcher.do(request))
  const alone = send('alone')
  await pass(500)
  const early = send('early')
  await pass(500)
  const late = send('late')
  // After the deadline of the first, the two others are a batch.
  await pass(DEADLINE - 400)
  connected.resolve()
  await settle()
  for (const { error } of [alone, early]) assert.ok(error instanceof StoreUnavailable && error.nothingWritten)
  assert.equal(late.value, 'late')
  // Those behind it are.
  const again = send('again')
  await settle()
  assert.equal(again.value, 'again')
})

for (const [count, length] of [
  [MAX_WAITING, 0],
  [MAX_WAITING_TEXT / PART, PART],
] as const)
  it(`at most 5000 requests wait, with 32 Mi code units of text: more are refused, until there is room: ${length}`, async () => {
    const operation = new FakeOperation()
    await operation.send({ name: 'first', length: 1 })
    await operation.send(...many(count, length), { name: 'more', length: 1 })
    assert.deepEqual(operation.events, ['[first]', 'more=overload'])
    await pass(DEADLINE)
    operation.events.splice(0)
    await operation.send(...many(count, length))
    assert.deepEqual(operation.events, [])
  })
