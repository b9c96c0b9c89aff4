import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import {
  begin,
  beginAll,
  DEADLINE,
  driver,
  endAll,
  forever,
  MAX_AGE,
  newPool,
  pass,
  self,
  settle,
  useDriver,
  watch,
} from './fake-driver.ts'

useDriver()

const isOverload = (error: unknown) => error instanceof StoreUnavailable && error.reason === 'overload'

describe('a pool of connections', () => {
  it('makes no more than are needed, and uses again the one that was used last', async () => {
    const pool = newPool(10)
    const [first, second] = await beginAll(pool, 2)
    assert.ok(first && second)
    await endAll(first, second)
    for (let i = 0; i < 5; i++) assert.equal(await pool.run(self), second.got.connection)
    assert.equal(driver.made.length, 2)
  })

  it('serves what came first, whatever it is for, once there is a connection for it', async () => {
    const pool = newPool(1)
    const first = await beginAll(pool, 1)
    const order: string[] = []
    const kinds = ['write', 'search', 'write', 'read', 'page', 'read'] as const
    const uses = kinds.map((kind) => pool.run(async () => void order.push(kind), { kind }))
    await endAll(...first)
    await Promise.all(uses)
    assert.deepEqual(order, kinds)
  })

  for (const [size, kind, most, ofOneClient] of [
    [1, 'write', 1, 1],
    [2, 'write', 2, 2],
    [3, 'page', 2, 2],
    [10, 'write', 7, 7],
    [10, 'page', 7, 7],
    [1, 'search', 1, 1],
    [4, 'search', 2, 1],
    [10, 'search', 5, 4],
  ] as const)
    it(`lets each ${kind} have at most ${most} of ${size}, and those of one client ${ofOneClient}`, async () => {
      const pool = newPool(size)
      const ofOne = await beginAll(pool, size + 1, kind, 'one')
      assert.equal(driver.made.length, ofOneClient)
      const ofOthers = Array.from({ length: size + 1 }, (_, i) => begin(pool, kind, `other ${i}`))
      await settle()
      assert.equal(driver.made.length, most)
      if (most < size)
        for (const other of ['read', 'write', 'search', 'page'] as const)
          if (other !== kind) await pool.run(self, { kind: other, client: 'another' })
      // Each that ends, well or not, makes room for one, and none for a client that has enough.
      const running = (uses: typeof ofOne) =>
        uses.filter(({ got, use }) => got.connection !== undefined && use.state === 'pending').length
      for (const { reject } of ofOthers.slice(0, most - ofOneClient)) reject(new Error('boom'))
      await settle()
      assert.deepEqual([running(ofOne), running(ofOthers)], [ofOneClient, most - ofOneClient])
    })

  it('gives connections to the clients of queries in turns', async () => {
    const pool = newPool(4)
    const done: string[] = []
    const search = (client: string) =>
      pool.run(() => settle().then(() => void done.push(client)), { kind: 'search', client })
    await Promise.all(Array.from('aaaaaabbc', search))
    assert.ok(done.indexOf('c') < 5 && done.lastIndexOf('b') < 6, done.join(''))
  })

  it('refuses the newest of the client with the most when 5000 of a kind wait', async () => {
    const pool = newPool(1)
    const first = await beginAll(pool, 1)
    const many = await beginAll(pool, 5000, 'search', 'one')
    const [other] = await beginAll(pool, 1, 'search', 'another')
    const refused = many.filter(({ use }) => use.state === 'rejected')
    assert.deepEqual(refused, many.slice(-1))
    assert.ok(isOverload(refused[0]?.use.error))
    await endAll(...first, ...many)
    assert.ok(other?.got.connection)
  })

  for (const [random, share] of [
    [0, 1],
    [1, 0.8],
  ] as const)
    it(`ends a connection when its work is done at ${share} of the greatest age, and makes another`, async (t) => {
      t.mock.method(Math, 'random', () => random)
      const pool = newPool(1)
      const old = await pool.run(self)
      const step = 30_000
      for (let age = step; age < share * MAX_AGE; age += step) {
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
      assert.equal(driver.open, 1)
    })
})

describe('the deadline of a use', () => {
  it('rejects it, cancels what it does and destroys its connection, whatever comes later', async () => {
    const pool = newPool(1)
    const [late] = await beginAll(pool, 1)
    assert.ok(late)
    await pass(DEADLINE - 1)
    assert.equal(late.use.state, 'pending')
    await pass(1)
    assert.ok(late.use.error instanceof StoreUnavailable)
    assert.deepEqual([late.got.connection?.cancelled, late.got.connection?.state], [true, 'destroyed'])
    await endAll(late)
    assert.notEqual(await pool.run(self), late.got.connection)
    assert.equal(driver.open, 1)
  })

  it('bounds the waiting for a connection too, and a caller that has given up takes none', async () => {
    const pool = newPool(1)
    const [first] = await beginAll(pool, 1)
    await pass(1000)
    const [second, third] = await beginAll(pool, 2)
    assert.ok(first && second && third)
    await pass(2999)
    await endAll(first)
    assert.equal(second.got.connection, first.got.connection)
    await pass(1001)
    for (const { use } of [second, third]) assert.ok(use.error instanceof StoreUnavailable)
    assert.equal(third.got.connection, undefined)
    assert.notEqual(await pool.run(self), first.got.connection)
  })

  it('makes room for others to wait', async () => {
    const pool = newPool(1)
    const first = await beginAll(pool, 1)
    for (let i = 0; i < 5000; i++) watch(pool.run(self, { time: 1000 }))
    await assert.rejects(pool.run(self), isOverload)
    await pass(1000)
    const next = watch(pool.run(self))
    await endAll(...first)
    assert.equal(next.state, 'fulfilled')
  })

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

  for (const isWaiting of [true, false])
    it(`bounds connecting; a connection that comes later is ${isWaiting ? 'for the next that waits' : 'kept'}`, async () => {
      const late = Promise.withResolvers<void>()
      driver.connecting = () => late.promise
      const pool = newPool(1)
      const first = begin(pool)
      await pass(DEADLINE - 1)
      const second = isWaiting ? begin(pool) : undefined
      await pass(1)
      assert.ok(first.use.error instanceof StoreUnavailable)
      late.resolve()
      await settle()
      assert.equal(second?.got.connection ?? (await pool.run(self)), driver.made[0])
      assert.deepEqual([first.got.connection, driver.made.length], [undefined, 1])
    })

  it('is not extended by cancelling that takes its time', async () => {
    driver.cancelling = forever
    const pool = newPool(1)
    const first = begin(pool)
    await pass(3500)
    const second = begin(pool)
    await pass(500)
    assert.ok(first.use.error instanceof StoreUnavailable)
    // What was not sent yet is not sent any more. The server may still be busy with the rest.
    assert.equal(first.got.connection?.state, 'destroyed')
    await pass(999)
    assert.equal(second.got.connection, undefined)
    await pass(1)
    assert.equal(second.got.connection, driver.made[1])
  })
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
    await closing.promise
    assert.deepEqual([working.use.state, waiting.state], ['fulfilled', 'fulfilled'])
    for (const { state } of driver.made) assert.equal(state, 'ended')
    await newPool(1).close()
  })

  it('waits for a connection that is being made, and ends it', async () => {
    const late = Promise.withResolvers<void>()
    driver.connecting = () => late.promise
    const pool = newPool(1)
    const use = watch(pool.run(self))
    await pass(DEADLINE)
    const closing = watch(pool.close())
    await settle()
    assert.deepEqual([use.state, closing.state], ['rejected', 'pending'])
    late.resolve()
    await closing.promise
    assert.equal(driver.open, 0)
  })

  it('leaves no connection to those that wait until another can be made', async () => {
    driver.connecting = () => Promise.reject(new Error('boom'))
    const pool = newPool(1)
    const failed = watch(pool.run(self))
    await settle()
    const waiting = watch(pool.run(self))
    driver.connecting = async () => {}
    await pool.close()
    await pass(5000)
    assert.deepEqual([failed.state, waiting.state], ['rejected', 'rejected'])
    assert.deepEqual(driver.made, [])
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

  it('leaves no timer behind', async () => {
    mock.timers.reset()
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const pool = newPool(2)
    const boom = () => Promise.reject(new Error('boom'))
    const uses = Array.from({ length: 20 }, (_, i) => pool.run<unknown>(i % 3 === 0 ? boom : self))
    await Promise.allSettled([...uses, pool.run(forever, { time: 1 })])
    await pool.close()
    assert.equal(timers(), before)
  })
})
