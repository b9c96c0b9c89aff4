import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import {
  begin,
  DEADLINE,
  driver,
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

describe('a pool of connections', () => {
  it('has at most as many as it may, and all uses get one', async () => {
    const pool = newPool(3)
    const uses = await Promise.all(
      Array.from({ length: 50 }, () =>
        pool.run(
          async (connection) => {
            await settle()
            return connection
          },
          { kind: 'read' },
        ),
      ),
    )
    assert.equal(driver.peak, 3)
    assert.equal(new Set(uses).size, 3)
  })

  it('makes no more than are needed, and uses again the one that was used last', async () => {
    const pool = newPool(10)
    const first = begin(pool)
    const second = begin(pool)
    await settle()
    first.resolve('')
    second.resolve('')
    await settle()
    for (let i = 0; i < 5; i++) assert.equal(await pool.run(self), second.got.connection)
    assert.equal(driver.made.length, 2)
  })

  it('gives a connection to one use at a time, and to those that wait in their order', async () => {
    const pool = newPool(1)
    const order: number[] = []
    let inUse = 0
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        pool.run(async () => {
          assert.equal(++inUse, 1)
          order.push(i)
          await settle()
          inUse--
        }),
      ),
    )
    assert.deepEqual(
      order,
      Array.from({ length: 20 }, (_, i) => i),
    )
  })

  it('refuses a caller at once when too many wait already', async () => {
    const pool = newPool(1)
    const first = begin(pool)
    const waiting = Array.from({ length: 5000 }, () => watch(pool.run(self)))
    await assert.rejects(
      pool.run(self),
      (error) => error instanceof StoreUnavailable && error.reason === 'overload',
    )
    first.resolve('')
    await Promise.all(waiting.map(({ promise }) => promise))
    assert.equal(driver.made.length, 1)
    await pool.run(self)
  })

  for (const [size, writes] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [10, 7],
  ] as const) {
    for (const kind of ['write', 'page'] as const) {
      it(`keeps ${size - writes} of ${size} for others when each ${kind} hangs, and these wait for each other`, async () => {
        const pool = newPool(size)
        const hanging = Array.from({ length: size + 1 }, () => begin(pool, kind))
        await settle()
        assert.equal(driver.made.length, writes)
        if (writes < size) for (let i = 0; i < 3; i++) await pool.run(self, { kind: 'read' })
        const [first, next] = [hanging[0], hanging[writes]]
        first?.resolve('')
        await settle()
        assert.equal(next?.got.connection, first?.got.connection)
        next?.reject(new Error('boom'))
        await settle()
        assert.ok(writes === size || hanging[writes + 1]?.got.connection !== undefined)
        assert.ok(driver.made.filter(({ state }) => state === 'open').length <= size)
      })
    }
  }

  for (const [size, searches, ofOneClient] of [
    [1, 1, 1],
    [2, 1, 1],
    [3, 1, 1],
    [4, 2, 1],
    [10, 5, 4],
  ] as const) {
    it(`lets searches have ${searches} of ${size}, and those of one client ${ofOneClient}`, async () => {
      const pool = newPool(size)
      const ofOne = Array.from({ length: size + 1 }, () => begin(pool, 'search', 'one'))
      await settle()
      assert.equal(driver.made.length, ofOneClient)
      const ofOthers = Array.from({ length: size + 1 }, (_, i) => begin(pool, 'search', `other ${i}`))
      await settle()
      assert.equal(driver.made.length, searches)
      // Each that ends makes room for one, and none for a client that has enough.
      for (const { resolve } of ofOthers.slice(0, searches - ofOneClient)) resolve('')
      await settle()
      const running = (uses: typeof ofOne) =>
        uses.filter(({ got, use }) => got.connection !== undefined && use.state === 'pending').length
      assert.deepEqual([running(ofOne), running(ofOthers)], [ofOneClient, searches - ofOneClient])
      const uses = [...ofOne, ...ofOthers]
      for (const { resolve } of uses) resolve('')
      await Promise.all(uses.map(({ use }) => use.promise))
    })
  }

  it('has connections for all others while uses of one kind hang', async () => {
    for (const hanging of ['write', 'search', 'page'] as const) {
      const pool = newPool(10)
      for (let i = 0; i < 20; i++) begin(pool, hanging, `${i}`)
      await settle()
      for (const kind of ['read', 'write', 'search', 'page'] as const) {
        if (kind !== hanging) await pool.run(self, { kind, client: 'another' })
      }
    }
  })

  it('gives connections to the clients of queries in turns', async () => {
    const pool = newPool(4)
    const done: string[] = []
    const search = (client: string) =>
      pool.run(
        async () => {
          await settle()
          done.push(client)
        },
        { kind: 'search', client },
      )
    await Promise.all([...Array.from('aaaaaa', search), ...Array.from('bb', search), search('c')])
    assert.ok(done.indexOf('c') < 5 && done.lastIndexOf('b') < 6, done.join(''))
  })

  it('serves what came first, whatever it is for, once there is a connection for it', async () => {
    const pool = newPool(1)
    const first = begin(pool)
    await settle()
    const order: string[] = []
    const uses = (['write', 'search', 'read', 'page'] as const).map((kind) =>
      pool.run(async () => void order.push(kind), { kind }),
    )
    first.resolve('')
    await Promise.all(uses)
    assert.deepEqual(order, ['write', 'search', 'read', 'page'])
  })

  it('refuses the newest of the client with the most when too many wait', async () => {
    const pool = newPool(1)
    const first = begin(pool)
    await settle()
    const many = Array.from({ length: 5000 }, () => begin(pool, 'search', 'one'))
    const other = begin(pool, 'search', 'another')
    await settle()
    const refused = many.filter(({ use }) => use.state === 'rejected')
    assert.deepEqual(refused, many.slice(-1))
    assert.ok(refused[0]?.use.error instanceof StoreUnavailable)
    assert.equal(refused[0].use.error.reason, 'overload')
    const uses = [first, other, ...many]
    for (const { resolve } of uses) resolve('')
    await Promise.allSettled(uses.map(({ use }) => use.promise))
    assert.equal(other.use.state, 'fulfilled')
  })

  it('counts the writes that get a connection that was used for a read', async () => {
    const pool = newPool(4)
    const read4 = () => [begin(pool), begin(pool), begin(pool), begin(pool)]
    const writing = (uses: readonly ReturnType<typeof begin>[]) =>
      uses.filter(({ got }) => got.connection !== undefined).length
    const reads = read4()
    const waiting = Array.from({ length: 5 }, () => begin(pool, 'write'))
    await settle()
    for (const { resolve } of reads) resolve('')
    await settle()
    assert.equal(writing(waiting), 3)
    for (const { resolve } of waiting) resolve('')
    await settle()
    for (const { resolve } of waiting) resolve('')
    await settle()
    const idle = read4()
    await settle()
    for (const { resolve } of idle) resolve('')
    await settle()
    const next = Array.from({ length: 5 }, () => begin(pool, 'write'))
    await settle()
    assert.equal(writing(next), 3)
  })

  it('ends connections at different ages, so that not all are made anew at the same time', async () => {
    const pool = newPool(1)
    const old = await pool.run(self)
    mock.timers.tick(30_000)
    for (let age = 60_000; age <= 0.8 * MAX_AGE; age += 30_000) {
      await pool.run(self)
      mock.timers.tick(30_000)
    }
    await pool.run(self)
    assert.equal(old.state, 'ended')
  })

  it('ends a connection that has become too old when its work is done, and makes another', async (t) => {
    t.mock.method(Math, 'random', () => 0)
    const pool = newPool(1)
    const old = await pool.run(self)
    for (let age = 30_000; age < MAX_AGE; age += 30_000) {
      mock.timers.tick(30_000)
      assert.equal(await pool.run(self), old)
    }
    mock.timers.tick(29_000)
    const [working, waiting] = [begin(pool), begin(pool)]
    mock.timers.tick(1000)
    working.resolve('')
    await settle()
    assert.equal(working.got.connection, old)
    assert.equal(old.state, 'ended')
    assert.equal(waiting.got.connection, driver.made[1])
    assert.equal(driver.open, 1)
  })
})

describe('the deadline of a use', () => {
  it('rejects it, cancels what it does and destroys its connection, whatever comes later', async () => {
    const pool = newPool(1)
    const late = begin(pool)
    await settle()
    await pass(DEADLINE - 1)
    assert.equal(late.use.state, 'pending')
    await pass(1)
    assert.equal(late.use.state, 'rejected')
    assert.ok(late.use.error instanceof StoreUnavailable)
    assert.equal(late.got.connection?.cancelled, true)
    assert.equal(late.got.connection?.state, 'destroyed')
    late.resolve('too late')
    await settle()
    assert.notEqual(await pool.run(self), late.got.connection)
    assert.equal(driver.open, 1)
  })

  it('bounds the waiting for a connection too, and a caller that has given up takes none', async () => {
    const pool = newPool(1)
    const first = begin(pool)
    await pass(1000)
    const second = begin(pool)
    const third = begin(pool)
    await pass(2999)
    first.resolve('')
    await settle()
    assert.equal(second.got.connection, first.got.connection)
    await pass(1001)
    for (const { use } of [second, third]) assert.ok(use.error instanceof StoreUnavailable)
    assert.equal(third.got.connection, undefined)
    assert.notEqual(await pool.run(self), first.got.connection)
  })

  it('makes room for others to wait', async () => {
    const pool = newPool(1)
    const first = begin(pool)
    for (let i = 0; i < 5000; i++) watch(pool.run(self, { time: 1000 }))
    await pass(1000)
    const next = watch(pool.run(self))
    first.resolve('')
    await settle()
    assert.equal(next.value, first.got.connection)
  })

  it('can be shorter', async () => {
    const use = watch(newPool(1).run(forever, { time: 10 }))
    await pass(9)
    assert.equal(use.state, 'pending')
    await pass(1)
    assert.ok(use.error instanceof StoreUnavailable)
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
    assert.deepEqual(await Promise.all(messages), [
      [
        'the database server did not answer within 3.5 seconds, and it is not known whether the write was stored',
        false,
      ],
      ['no connection to the database server was available within 1 seconds', true],
      ['the database server did not answer within 2 seconds', true],
      ['no connection to the database server was available within 0 seconds', true],
    ])
  })

  it('bounds connecting; a connection that comes later is for the next that waits', async () => {
    const late = Promise.withResolvers<void>()
    driver.connecting = () => late.promise
    const pool = newPool(1)
    const first = begin(pool)
    await pass(DEADLINE - 1)
    const second = begin(pool)
    await pass(1)
    assert.ok(first.use.error instanceof StoreUnavailable)
    late.resolve()
    await settle()
    assert.equal(first.got.connection, undefined)
    assert.equal(second.got.connection, driver.made[0])
    assert.equal(driver.made.length, 1)
  })

  it('bounds connecting; a connection that comes later is kept if nobody waits', async () => {
    const late = Promise.withResolvers<void>()
    driver.connecting = () => late.promise
    const pool = newPool(1)
    const first = begin(pool)
    await pass(DEADLINE)
    late.resolve()
    await settle()
    assert.ok(first.use.error instanceof StoreUnavailable)
    assert.equal(await pool.run(self), driver.made[0])
    assert.equal(driver.made.length, 1)
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
