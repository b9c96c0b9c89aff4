import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Kind, User } from '../../../src/store/client-server/connections.ts'
import {
  type FakeConnection,
  FakeDriver,
  mockTime,
  newPool,
  pass,
  settle,
  type Watched,
  watch,
} from './fake-driver.ts'

const SIZE = 4

/** The most connections for each kind of use, and for those of one client. */
const MOST = { read: 4, write: 3, page: 3, search: 2 }
const MOST_OF_CLIENT = { read: 4, write: 3, page: 3, search: 1 }

/** The server refuses work, and keeps the connection. */
const REFUSED = new Error('refused')

const KINDS = Object.keys(MOST) as Kind[]

/** What may happen next; the numbers choose among what there is. */
type Step = readonly ['use' | 'done' | 'fail' | 'refuse' | 'lose' | 'connected' | 'refused' | 'pass', number]

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('use', 'done', 'connected') },
      { weight: 2, arbitrary: fc.constantFrom('fail', 'refuse', 'lose', 'refused', 'pass') },
    ),
    fc.nat(5000),
  ),
  { minLength: 100, maxLength: 200, size: 'max' },
)

describe('a pool of connections, whatever happens', () => {
  it('keeps count: never too many, none shared, none dead, none left', () =>
    fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 }))
})

async function run(steps: readonly Step[]): Promise<void> {
  mockTime()
  const driver = new FakeDriver()
  driver.meanings.set(REFUSED, { outcome: 'refused' })
  const attempts: PromiseWithResolvers<void>[] = []
  driver.connecting = () => {
    const attempt = Promise.withResolvers<void>()
    attempts.push(attempt)
    return attempt.promise
  }
  const pool = newPool(SIZE, driver)
  const uses: Watched<void>[] = []
  const works: (User & { readonly connection: FakeConnection; readonly end: PromiseWithResolvers<void> })[] =
    []

  const work = (connection: FakeConnection, { kind, client }: User) => {
    assert.equal(connection.state, 'open', 'a connection is handed out that is dead')
    assert.ok(
      works.every((other) => other.connection !== connection),
      'a connection has two users',
    )
    const end = Promise.withResolvers<void>()
    works.push({ connection, end, kind, client })
    const ofKind = works.filter((other) => other.kind === kind)
    assert.ok(ofKind.length <= MOST[kind], `too many connections for ${kind}`)
    const ofClient = ofKind.filter((other) => other.client === client)
    assert.ok(ofClient.length <= MOST_OF_CLIENT[kind], `too many connections for ${kind} of one client`)
    return end.promise
  }
  const takeOne = <Item>(items: Item[], number: number) =>
    items.splice(number % Math.max(items.length, 1), 1)[0]
  const happen = {
    use: (number: number) => {
      const user = { kind: KINDS[number % KINDS.length] ?? 'read', client: number % 3 === 0 ? 'a' : 'b' }
      uses.push(watch(pool.run((connection) => work(connection, user), user)))
    },
    done: (number: number) => takeOne(works, number)?.end.resolve(),
    fail: (number: number) => takeOne(works, number)?.end.reject(new Error('boom')),
    refuse: (number: number) => takeOne(works, number)?.end.reject(REFUSED),
    lose: (number: number) => {
      const open = driver.made.filter(({ state }) => state === 'open')
      const lost = open[number % Math.max(open.length, 1)]
      if (lost !== undefined) driver.lose(lost)
    },
    connected: (number: number) => takeOne(attempts, number)?.resolve(),
    refused: (number: number) => takeOne(attempts, number)?.reject(new Error('refused')),
    pass,
  }

  for (const [step, number] of steps) {
    await happen[step](number)
    await settle()
    // Who was cut off by the deadline uses its connection no more.
    for (const gone of works.filter(
      ({ connection }) => connection.state === 'destroyed' || connection.cancelled,
    )) {
      works.splice(works.indexOf(gone), 1)
    }
    assert.ok(driver.peak <= SIZE, 'too many connections')
  }
  const closing = watch(pool.close().then(() => [driver.open, driver.made.length]))
  for (
    let i = 0;
    (closing.state === 'pending' || uses.some(({ state }) => state === 'pending')) && i < 100;
    i++
  ) {
    for (const { end } of works.splice(0)) end.resolve()
    for (const attempt of attempts.splice(0)) attempt.resolve()
    await happen.pass(500)
  }
  assert.deepEqual(closing.value, [0, driver.made.length], 'it does not close, or makes a connection then')
  assert.ok(
    uses.every(({ state }) => state !== 'pending'),
    'a use has no end',
  )
}
