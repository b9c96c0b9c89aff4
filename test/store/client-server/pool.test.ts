import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import type { Kind } from '../../../src/store/client-server/connections.ts'
import type { ErrorMeaning } from '../../../src/store/client-server/errors.ts'
import type { RunOptions } from '../../../src/store/client-server/pool.ts'
import { queriesOf } from '../../../src/store/client-server/queries.ts'
import { BookIndexer } from '../../../src/store/client-server/search-indexer.ts'
import { dialectOf } from '../../../src/store/postgres/dialect.ts'
import {
  begin,
  beginAll,
  DEADLINE,
  driver,
  endAll,
  type FakeConnection,
  forever,
  MAX_AGE,
  newPool,
  pass,
  self,
  settle,
  useDriver,
  watch,
} from './fake-driver.ts'

const MAX_IDLE_TIME = 60_000

/** How often work is tried that the server rolls back. */
const ATTEMPTS = 5

/** No work is done again later than this after it failed, and no connection is made again; in milliseconds. */
const PAUSE = 400

useDriver()

/** An error of the driver with this meaning. */
function meaning(outcome: ErrorMeaning['outcome'], reason?: ErrorMeaning['reason']) {
  const error = new Error('its own words')
  driver.meanings.set(error, { outcome, ...(reason && { reason }) })
  return error
}

/** Work that fails so often, and how often it was tried. */
function failing(times: number, error: Error) {
  let tries = 0
  const work = async (connection: FakeConnection) => {
    if (++tries <= times) throw error
    return connection
  }
  return { work, count: () => tries }
}

/** Lets time pass in small steps, so that nothing happens later than it should. */
async function passSlowly(time: number): Promise<void> {
  for (let rest = time; rest > 0; rest -= 10) await pass(Math.min(rest, 10))
}

// How servers that are down, full or read-only are survived: test/faults and the tests of several hosts.
describe('a pool of connections', () => {
  it('serves what came first, whatever it is for, once there is a connection for it', async () => {
    const pool = newPool(1)
    const order: string[] = []
    const kinds = ['write', 'search', 'write', 'read', 'page', 'read'] as const
    const uses = kinds.map((kind) => pool.run(async () => void order.push(kind), { kind }))
    assert.deepEqual(pool.load(), {
      connections_used: 1,
      connections_idle: 0,
      requests_waiting: kinds.length - 1,
    })
    await Promise.all(uses)
    assert.deepEqual(order, kinds)
  })

  it('gives a query that has waited for the index only the rest of its time', async () => {
    const stale = () => new Promise<[]>((resolve) => setTimeout(resolve, 1000, []))
    const words = new BookIndexer({
      valuesOf: () => [],
      stale,
      store: async () => 0,
      isRefused: () => false,
    })
    const engine = { dialect: forever, query: forever }
    const use = watch(queriesOf(newPool(1), engine, words, undefined).count({ words: ['word'] }))
    await pass(DEADLINE - 500)
    assert.equal(use.state, 'pending')
    await pass(500)
    assert.ok(use.error instanceof StoreUnavailable && use.error.reason === 'timeout')
  })

  it('answers a query that the index keeps waiting for half of its time, and says so', async () => {
    const stale = forever
    const words = new BookIndexer({ valuesOf: () => [], stale, store: async () => 0, isRefused: () => false })
    const engine = { dialect: () => dialectOf('stored'), query: async () => [{ books: 1 }] }
    const { count } = queriesOf(newPool(1), engine, words, undefined)
    let incomplete = 0
    const use = watch(count({ words: ['word'] }, { onIncomplete: () => incomplete++ }))
    await pass(DEADLINE / 2 - 1)
    assert.equal(use.state, 'pending')
    await pass(1)
    assert.deepEqual([use.value, incomplete], [1, 1])
  })

  it('has some of its connections for each kind of use, and for the searches of one client', async () => {
    /** How many have one of so many connections. */
    const served = async (size: number, kind: Kind, isOfOneClient: boolean) => {
      const pool = newPool(size)
      const uses = Array.from({ length: size + 1 }, (_, i) => begin(pool, kind, isOfOneClient ? '' : `${i}`))
      await settle()
      return uses.filter(({ got }) => got.connection !== undefined).length
    }
    for (const [size, most] of [
      [1, { read: 1, write: 1, page: 1, search: 1, ofOne: 1 }],
      [3, { read: 3, write: 2, page: 2, search: 1, ofOne: 1 }],
      [10, { read: 10, write: 7, page: 7, search: 5, ofOne: 4 }],
    ] as const) {
      for (const kind of ['read', 'write', 'page', 'search'] as const)
        assert.equal(await served(size, kind, false), most[kind], `${kind} of ${size}`)
      assert.equal(await served(size, 'search', true), most.ofOne)
    }
    // The fifth of one client waits, and not that of another.
    const query = mock.fn(forever)
    const { count } = queriesOf(
      newPool(10),
      { dialect: () => dialectOf('stored'), query },
      undefined,
      undefined,
    )
    for (const client of 'aaaaab') watch(count({}, { client }))
    await settle()
    assert.equal(query.mock.callCount(), 5)
  })

  it('refuses the newest of the client with the most when 5000 of a kind wait, until their time is over', async () => {
    const pool = newPool(1)
    await beginAll(pool, 1)
    const many = await beginAll(pool, 5000, 'search', 'one')
    await beginAll(pool, 1, 'search', 'another')
    const refused = many.filter(({ use }) => use.state === 'rejected')
    assert.deepEqual(refused, many.slice(-1))
    const [error] = refused.map(({ use }) => use.error)
    assert.ok(error instanceof StoreUnavailable && error.reason === 'overload' && error.nothingWritten)
    await pass(DEADLINE)
    const [next] = await beginAll(pool, 5000, 'search', 'one')
    assert.notEqual(next?.use.state, 'rejected')
  })

  it('ends a connection when its work is done and it is too old, and makes another', async () => {
    const pool = newPool(1)
    // The age of each is up to a fifth less, which is what is random here.
    const [oldAge, step] = [0.8 * MAX_AGE, 30_000]
    const old = await pool.run(self)
    for (let age = step; age < oldAge; age += step) {
      mock.timers.tick(step)
      assert.equal(await pool.run(self), old)
    }
    mock.timers.tick(step - 1)
    const [working, waiting] = await beginAll(pool, 2)
    assert.ok(working && waiting)
    mock.timers.tick(1)
    await endAll(working)
    assert.deepEqual([working.got.connection, old.state], [old, 'ended'])
    assert.equal(waiting.got.connection, driver.made[1])
  })

  it('connects again only after a pause, however many wait, and tells all of them why it failed', async () => {
    const refused = meaning('lost', 'connection')
    let tries = 0
    driver.connecting = async () => {
      tries++
      throw refused
    }
    const pool = newPool(2)
    const uses = Array.from({ length: 50 }, () => watch(pool.run(self)))
    await passSlowly(DEADLINE)
    for (const { error } of uses) {
      assert.ok(error instanceof StoreUnavailable && error.nothingWritten && error.cause === refused)
      assert.equal(error.reason, 'connection')
    }
    assert.ok(tries <= (2 * DEADLINE) / 100 + 2, `${tries}`)
    // Later, the wait has another reason.
    driver.connecting = async () => {}
    const [, , waiting] = await beginAll(pool, 3)
    await pass(DEADLINE)
    const { error } = waiting?.use ?? {}
    assert.ok(error instanceof StoreUnavailable && error.reason === 'timeout' && error.cause === undefined)
  })

  it('does not use those again that were idle for long, and waits for none of them', async () => {
    driver.ending = forever
    const pool = newPool(3)
    await endAll(...(await beginAll(pool, 3)))
    mock.timers.tick(MAX_IDLE_TIME)
    assert.equal(await pool.run(self), driver.made[2])
    mock.timers.tick(MAX_IDLE_TIME + 1)
    assert.equal(await pool.run(self), driver.made[3])
    for (const { state } of driver.made.slice(0, 3)) assert.equal(state, 'destroyed')
  })
})

describe('a connection whose work fails', () => {
  it('is used again only once its transaction has ended, if the server did nothing', async () => {
    const ending = Promise.withResolvers<void>()
    driver.resetting = () => ending.promise
    const pool = newPool(1)
    const error = meaning('refused')
    await assert.rejects(pool.run(failing(1, error).work), error)
    const next = watch(pool.run(self))
    await settle()
    assert.equal(next.state, 'pending')
    ending.resolve()
    await settle()
    assert.equal(next.value, driver.made[0])
  })

  it('is destroyed if its transaction does not end in time', async () => {
    driver.resetting = forever
    const pool = newPool(1)
    const refused = meaning('refused')
    await assert.rejects(pool.run(failing(1, refused).work), refused)
    const next = watch(pool.run(self))
    await pass(1000)
    assert.equal(next.value, driver.made[1])
  })

  it('is not used again once it is lost, whether it is idle or in use', async () => {
    const pool = newPool(2)
    const [idle, working] = await beginAll(pool, 2)
    assert.ok(idle && working)
    await endAll(idle)
    for (const connection of [...driver.made]) driver.lose(connection)
    await endAll(working)
    const next = await beginAll(pool, 2)
    assert.deepEqual(
      next.map(({ got }) => got.connection),
      driver.made.slice(2),
    )
    await endAll(...next)
    await pool.close()
    assert.deepEqual(
      driver.made.map(({ state }) => state),
      ['destroyed', 'destroyed', 'ended', 'ended'],
    )
  })

  it('takes those with it that were idle while it was lost, and not those that worked', async () => {
    const pool = newPool(3)
    const [idle, lost, working] = await beginAll(pool, 3)
    assert.ok(idle && lost && working)
    await endAll(idle)
    await endAll(lost)
    await pass(1)
    const [again] = await beginAll(pool, 1)
    await endAll(working)
    again?.reject(meaning('lost'))
    await settle()
    const states = [idle, lost, working].map(({ got }) => got.connection?.state)
    assert.deepEqual(states, ['destroyed', 'destroyed', 'open'])
    const [next] = await beginAll(pool, 1)
    assert.equal(next?.got.connection, working.got.connection)
  })
})

it('connections are renewed once, however many callers find them read-only at the same time', async () => {
  const pool = newPool(3)
  await pass(1)
  const [first, second] = await beginAll(pool, 2)
  first?.reject(meaning('moved'))
  await settle()
  const fresh = await pool.run(self, { kind: 'read' })
  pool.renew()
  await pass(1)
  second?.reject(meaning('moved'))
  await settle()
  // It is idle since the work of the second began, but it was made after the first had failed.
  assert.equal(fresh.state, 'open')
  // The clock is set back.
  mock.timers.setTime(0)
  pool.renew()
  assert.equal(fresh.state, 'destroyed')
})

describe('work that fails', () => {
  /** What becomes of it: it is done, or fails with its own error or with StoreUnavailable. */
  type End = 'done' | 'own error' | 'nothing written' | 'not known'

  for (const [times, outcome, options, tries, end] of [
    [ATTEMPTS - 1, 'conflict', {}, ATTEMPTS, 'done'],
    [ATTEMPTS, 'conflict', {}, ATTEMPTS, 'nothing written'],
    [1, 'conflict', { isConflictRepeated: false }, 1, 'nothing written'],
    [9, 'conflict', { isRepeatable: false }, 1, 'nothing written'],
    [9, 'moved', { isRepeatable: false }, 1, 'nothing written'],
    [9, 'late', { isRepeatable: false }, 1, 'nothing written'],
    [3, 'lost', { kind: 'read' }, 4, 'done'],
    [9, 'lost', { kind: 'read' }, 4, 'nothing written'],
    [1, 'lost', {}, 1, 'not known'],
    [1, 'refused', {}, 1, 'nothing written'],
    [1, 'unknown', {}, 1, 'not known'],
    [1, undefined, {}, 1, 'own error'],
  ] satisfies [number, ErrorMeaning['outcome'] | undefined, RunOptions, number, End][])
    it(`${times} times (${outcome}), with ${JSON.stringify(options)}, is tried ${tries} times: ${end}`, async () => {
      const error = outcome === undefined ? new Error('own') : meaning(outcome, 'connection')
      const { count, work } = failing(times, error)
      // Connecting is tried again even where the work is not, and does not count as an attempt at it.
      let refusals = 2
      driver.connecting = async () => {
        if (refusals-- > 0) throw new Error('refused')
      }
      const use = watch(newPool(1).run(work, options))
      await passSlowly((ATTEMPTS + 2) * PAUSE)
      assert.equal(count(), tries)
      // A connection is kept where the server did nothing; otherwise each attempt has a new one.
      const isKept = outcome === 'refused' || outcome === 'conflict'
      assert.equal(driver.made.length, isKept ? 1 : tries)
      assert.equal(driver.made.at(-1)?.state, isKept || end === 'done' ? 'open' : 'destroyed')
      if (end === 'done') assert.equal(use.state, 'fulfilled')
      else if (end === 'own error') assert.equal(use.error, error)
      else {
        assert.ok(use.error instanceof StoreUnavailable)
        assert.deepEqual([use.error.nothingWritten, use.error.reason], [end !== 'not known', 'connection'])
      }
    })

  for (const [outcome, says] of [
    ['moved', /^the database server failed: its own words$/],
    ['late', /^the write reached the database server after its deadline[^:]*$/],
  ] as const)
    it(`is tried on new connections until the deadline: ${outcome}`, async () => {
      const { work, count } = failing(Number.POSITIVE_INFINITY, meaning(outcome, 'timeout'))
      const pool = newPool(2)
      const [other] = await beginAll(pool, 1)
      assert.ok(other)
      const use = watch(pool.run(work))
      await passSlowly(DEADLINE - 2 * PAUSE)
      await endAll(other)
      assert.deepEqual([use.state, other.got.connection?.state], ['pending', 'destroyed'])
      await passSlowly(2 * PAUSE)
      assert.ok(count() >= (DEADLINE - 2 * PAUSE) / PAUSE, `${count()}`)
      assert.ok(use.error instanceof StoreUnavailable && use.error.nothingWritten)
      assert.match(describeError(use.error), says)
    })
})

describe('the deadline of a use', () => {
  it('is told as it was: how long, whether there was a connection, and whether anything may be written', async () => {
    const pool = newPool(1)
    const messages = [
      pool.run(forever, { time: 3456 }),
      pool.run(forever, { time: 1000 }),
      newPool(1).run(forever, { time: 2000, kind: 'read' }),
      // The process stood still before.
      pool.run(forever, { time: -400 }),
    ].map((use) => use.catch(({ message, nothingWritten }: StoreUnavailable) => [message, nothingWritten]))
    await pass(3456)
    const unknown = ', and it is not known whether the write was stored'
    assert.deepEqual(await Promise.all(messages), [
      [`the database server did not answer within 3.5 seconds${unknown}`, false],
      ['no connection to the database server was available within 1 seconds', true],
      ['the database server did not answer within 2 seconds', true],
      ['no connection to the database server was available within 0 seconds', true],
    ])
  })

  for (const [isConnected, reason] of [
    [true, 'timeout'],
    [false, 'connection'],
  ] as const)
    it(`is told with the failure before it, whether there is a connection again: ${isConnected}`, async () => {
      const lost = meaning('lost', 'connection')
      const pool = newPool(1)
      let tries = 0
      const use = watch(pool.run(() => (++tries === 1 ? Promise.reject(lost) : forever()), { kind: 'read' }))
      await settle()
      if (!isConnected) await beginAll(pool, 1)
      await pass(DEADLINE)
      assert.ok(use.error instanceof StoreUnavailable)
      assert.deepEqual([use.error.cause, use.error.reason], [lost, reason])
    })

  it('may be over before the use begins, of which Node does not warn', async (t) => {
    mock.timers.reset()
    const warn = t.mock.fn()
    process.on('warning', warn)
    t.after(() => process.off('warning', warn))
    await assert.rejects(newPool(1).run(forever, { time: -400 }), StoreUnavailable)
    await settle()
    assert.equal(warn.mock.callCount(), 0)
  })

  it('rejects it, and destroys its connection, which counts until the server has had time to cancel', async () => {
    driver.cancelling = forever
    const pool = newPool(1)
    const [late] = await beginAll(pool, 1)
    await pass(DEADLINE - 1)
    assert.equal(late?.use.state, 'pending')
    await pass(1)
    assert.ok(late.use.error instanceof StoreUnavailable)
    assert.deepEqual([late.got.connection?.cancelled, late.got.connection?.state], [true, 'destroyed'])
    await endAll(late)
    const next = begin(pool)
    await pass(999)
    assert.equal(next.got.connection, undefined)
    await pass(1)
    assert.equal(next.got.connection, driver.made[1])
  })
})

for (const [isGivenUp, idle] of [
  [true, 'open'],
  [false, 'destroyed'],
] as const)
  it(`a use that ends too late takes the idle connections with it, not if its client gives it up: ${isGivenUp}`, async () => {
    const pool = newPool(2)
    await endAll(...(await beginAll(pool, 2)))
    await pass(1)
    const controller = new AbortController()
    const { signal } = controller
    const use = watch(pool.run(forever, { kind: 'search', signal }))
    await settle()
    if (isGivenUp) controller.abort(new Error('nobody waits'))
    else await pass(DEADLINE)
    await settle()
    assert.ok(isGivenUp ? use.error === signal.reason : use.state === 'rejected')
    assert.deepEqual(
      driver.made.map(({ state }) => state),
      [idle, 'destroyed'],
    )
  })

describe('closing a pool of connections', () => {
  it('waits for what is being done, and for what waits to be done, and ends all', async () => {
    const pool = newPool(2)
    const [working, idle] = await beginAll(pool, 2)
    assert.ok(working && idle)
    await endAll(idle)
    const waiting = watch(pool.run(() => pool.run(self)))
    const closing = watch(pool.close())
    await settle()
    assert.deepEqual([closing.state, working.got.connection?.state], ['pending', 'open'])
    await endAll(working)
    await settle()
    const states = [working.use, waiting, closing].map(({ state }) => state)
    assert.deepEqual(states, ['fulfilled', 'fulfilled', 'fulfilled'])
    for (const { state } of driver.made) assert.equal(state, 'ended')
    await newPool(1).close()
  })

  it('does nothing again after it', async () => {
    driver.connecting = () => Promise.reject(new Error('refused'))
    const pool = newPool(1)
    const use = watch(pool.run(self))
    await settle()
    await pool.close()
    await pass(PAUSE)
    assert.equal(use.state, 'rejected')
  })

  it('destroys what cannot be ended, and does not wait for a server that does not answer', async () => {
    for (const ending of [() => Promise.reject(new Error('boom')), forever]) {
      driver.ending = ending
      const pool = newPool(3)
      await pool.run(self)
      const closing = watch(pool.close())
      await pass(4000)
      assert.deepEqual([closing.state, driver.made.at(-1)?.state], ['fulfilled', 'destroyed'])
    }
  })
})
