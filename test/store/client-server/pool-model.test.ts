import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Kind, User } from '../../../src/store/client-server/connections.ts'
import {
  driver,
  type FakeConnection,
  newPool,
  pass,
  renewDriver,
  settle,
  type Watched,
  watch,
} from './fake-driver.ts'

const SIZE = 4

/** The most connections for each kind of use, and for those of one client. */
const MOST = { read: 4, write: 3, page: 3, search: 2 }
const MOST_OF_CLIENT = { ...MOST, search: 1 }
const KINDS = Object.keys(MOST) as Kind[]

/** The server refuses work, and keeps the connection. */
const REFUSED = new Error('refused')

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

it('a pool of connections keeps count: never too many, none shared, none dead, none left', () =>
  fc.assert(fc.asyncProperty(steps, run), { numRuns: 100 }))

async function run(steps: readonly Step[]): Promise<void> {
  renewDriver()
  driver.meanings.set(REFUSED, { outcome: 'refused' })
  const attempts: PromiseWithResolvers<void>[] = []
  driver.connecting = () => {
    const attempt = Promise.withResolvers<void>()
    attempts.push(attempt)
    return attempt.promise
  }
  const pool = newPool(SIZE)
  const uses: Watched<void>[] = []
  let works: (User & { readonly connection: FakeConnection; readonly end: PromiseWithResolvers<void> })[] = []

  const work = (connection: FakeConnection, { kind, client }: User) => {
    assert.equal(connection.state, 'open', 'a connection is handed out that is dead')
    assert.ok(!works.some((other) => other.connection === connection), 'a connection has two users')
    const end = Promise.withResolvers<void>()
    works.push({ connection, end, kind, client })
    const ofKind = works.filter((other) => other.kind === kind)
    const ofClient = ofKind.filter((other) => other.client === client)
    assert.ok(ofKind.length <= MOST[kind], `too many connections for ${kind}`)
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
      const lost = takeOne(open, number)
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
    works = works.filter(({ connection }) => connection.state !== 'destroyed' && !connection.cancelled)
    assert.ok(driver.peak <= SIZE, 'too many connections')
  }
  const closing = watch(pool.close().then(() => [driver.open, driver.made.length]))
  const isPending = ({ state }: Watched<unknown>) => state === 'pending'
  for (let i = 0; i < 100 && [closing, ...uses].some(isPending); i++) {
    for (const { end } of works.splice(0)) end.resolve()
    for (const attempt of attempts.splice(0)) attempt.resolve()
    await pass(500)
  }
  assert.deepEqual(closing.value, [0, driver.made.length], 'it does not close, or makes a connection then')
  assert.ok(!uses.some(isPending), 'a use has no end')
}
