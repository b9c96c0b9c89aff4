import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import type { ErrorMeaning } from '../../../src/store/client-server/errors.ts'
import { ConnectionPool } from '../../../src/store/client-server/pool.ts'
import {
  begin,
  DEADLINE,
  driver,
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
function meaning(
  outcome: ErrorMeaning['outcome'],
  reason?: ErrorMeaning['reason'],
  message: string = outcome,
) {
  const error = new Error(message)
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

describe('a pool whose connections fail', () => {
  it('destroys one when its work fails, and whoever waits gets a new one', async () => {
    const pool = newPool(1)
    for (const fail of [
      () => Promise.reject(new Error('boom')),
      () => {
        throw new Error('boom')
      },
    ]) {
      const [first, second] = [watch(pool.run<unknown>(fail)), watch(pool.run(self))]
      await settle()
      assert.match(String(first.error), /boom/)
      const [failed, other] = driver.made.slice(-2)
      assert.deepEqual([failed?.state, second.value], ['destroyed', other])
    }
    assert.equal(driver.peak, 1)
  })

  for (const outcome of ['refused', 'conflict'] as const) {
    it(`keeps all when the server did nothing (${outcome}), and gives back none before its transaction has ended`, async () => {
      const ending = Promise.withResolvers<void>()
      driver.resetting = () => ending.promise
      const pool = newPool(2)
      const work = Promise.withResolvers<never>()
      const uses = [pool.run(self), pool.run(() => work.promise, { isRepeatable: false })].map(watch)
      await pass(1)
      work.reject(meaning(outcome))
      await settle()
      const kept = watch(pool.run(self))
      await settle()
      assert.deepEqual(
        [...uses, kept].map(({ state }) => state),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      begin(pool)
      const next = watch(pool.run(self))
      await settle()
      assert.equal(next.state, 'pending')
      ending.resolve()
      await settle()
      assert.equal(next.state, 'fulfilled')
      assert.deepEqual([driver.open, driver.made.length], [2, 2])
    })
  }

  it('destroys one whose transaction does not end in time, or that is lost meanwhile', async () => {
    const refused = meaning('refused')
    const pool = newPool(1)
    driver.resetting = forever
    await assert.rejects(pool.run(failing(1, refused).work), refused)
    const next = watch(pool.run(self))
    await pass(1000)
    assert.equal(next.value, driver.made[1])
    driver.resetting = async () => {}
    const lost = pool.run((connection) => {
      driver.lose(connection)
      return Promise.reject(refused)
    })
    await assert.rejects(lost, refused)
    assert.equal(await pool.run(self), driver.made[2])
    assert.equal(driver.open, 1)
  })

  it('destroys those too that were idle while one was lost, and keeps those that worked', async () => {
    const pool = newPool(3)
    const [idle, lost, working] = [begin(pool), begin(pool), begin(pool)]
    await settle()
    idle.resolve('')
    await settle()
    lost.resolve('')
    await pass(1)
    const again = begin(pool)
    await settle()
    assert.equal(again.got.connection, lost.got.connection)
    working.resolve('')
    await settle()
    again.reject(meaning('lost'))
    await settle()
    assert.equal(idle.got.connection?.state, 'destroyed')
    assert.equal(working.got.connection?.state, 'open')
    assert.equal(driver.open, 1)
  })

  it('keeps those that are idle when a caller gives up its work', async () => {
    const pool = newPool(2)
    const [kept] = await Promise.all([pool.run(self), pool.run(self)])
    await pass(1)
    const givingUp = new AbortController()
    const use = watch(pool.run(forever, { signal: givingUp.signal }))
    await settle()
    givingUp.abort()
    await settle()
    assert.equal(use.state, 'rejected')
    assert.equal(await pool.run(self), kept)
    assert.equal(driver.open, 1)
  })

  it('does not use one again that was lost while it was idle, or just as its work was done', async () => {
    const pool = newPool(1)
    const first = await pool.run(self)
    driver.lose(first)
    const second = await pool.run(async (connection) => {
      driver.lose(connection)
      return connection
    })
    const third = await pool.run(self)
    assert.equal(new Set([first, second, third]).size, 3)
    assert.deepEqual([first.state, second.state, driver.open], ['destroyed', 'destroyed', 1])
  })

  it('does not use those again that were idle for long, and waits for none of them', async () => {
    driver.ending = forever
    const pool = newPool(3)
    const uses = [begin(pool), begin(pool), begin(pool)]
    await settle()
    for (const { resolve } of uses) resolve('')
    await settle()
    mock.timers.tick(MAX_IDLE_TIME)
    assert.equal(await pool.run(self), driver.made[2])
    mock.timers.tick(MAX_IDLE_TIME + 1)
    assert.equal(await pool.run(self), driver.made[3])
    for (const { state } of driver.made.slice(0, 3)) assert.equal(state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('renews all when one has become read-only: others finish their work, and the work is done again', async () => {
    const pool = newPool(3)
    const [idle, first, second] = [begin(pool), begin(pool), begin(pool)]
    await settle()
    idle.resolve('')
    await settle()
    const write = watch(pool.run(failing(2, meaning('moved')).work))
    await settle()
    assert.equal(idle.got.connection?.state, 'destroyed')
    await passSlowly(2 * PAUSE)
    assert.equal(write.value, driver.made.at(-1))
    for (const { resolve, use, got } of [first, second]) {
      assert.equal(got.connection?.state, 'open')
      resolve('done')
      await settle()
      assert.deepEqual([use.value, got.connection?.state], ['done', 'destroyed'])
    }
    assert.equal(driver.open, 1)
  })

  it('renews all once, however many callers find them read-only at the same time', async () => {
    const pool = newPool(4)
    const [first, second] = [begin(pool), begin(pool)]
    await settle()
    first.reject(meaning('moved'))
    await settle()
    const fresh = await pool.run(self, { kind: 'read' })
    await pass(1)
    second.reject(meaning('moved'))
    await settle()
    // It is idle since the work of the second began, but it was made after the first had failed.
    assert.equal(fresh.state, 'open')
  })

  it('tells nobody of an earlier failure to connect once it has connected', async () => {
    driver.connecting = () => Promise.reject(new Error('refused'))
    const pool = newPool(1)
    const first = watch(pool.run(forever, { kind: 'read' }))
    await passSlowly(PAUSE)
    driver.connecting = async () => {}
    await passSlowly(PAUSE)
    const waiting = watch(pool.run(self, { time: 100 }))
    await passSlowly(200)
    assert.ok(waiting.error instanceof StoreUnavailable)
    assert.equal(waiting.error.cause, undefined)
    await passSlowly(DEADLINE)
    assert.equal(first.state, 'rejected')
  })

  it('tries again until the deadline while the server stays read-only, and says that nothing was written', async () => {
    const cause = meaning('moved', 'read_only')
    const { work, count } = failing(Number.POSITIVE_INFINITY, cause)
    const use = watch(newPool(1).run(work))
    await passSlowly(DEADLINE - 2 * PAUSE)
    assert.equal(use.state, 'pending')
    await passSlowly(2 * PAUSE)
    assert.ok(use.error instanceof StoreUnavailable && use.error.nothingWritten)
    assert.equal(use.error.cause, cause)
    assert.ok(count() >= (DEADLINE - 2 * PAUSE) / PAUSE, `${count()}`)
  })

  it('tries to connect until the deadline; others wait, and all are told why it failed', async () => {
    const refused = new Error('refused')
    let tries = 0
    driver.connecting = async () => {
      tries++
      throw refused
    }
    const pool = newPool(2)
    const uses = Array.from({ length: 50 }, () => watch(pool.run(self)))
    await passSlowly(DEADLINE)
    for (const { error } of uses) {
      assert.ok(error instanceof StoreUnavailable && error.nothingWritten, String(error))
      assert.equal(error.cause, refused)
    }
    assert.ok(tries <= (2 * DEADLINE) / 100 + 2, `${tries}`)
    const late = watch(pool.run(self))
    await passSlowly(1000)
    driver.connecting = async () => {}
    await passSlowly(2 * PAUSE)
    assert.equal(late.value, driver.made[0])
  })

  it('lets callers wait for a connection that is there when no other can be made', async () => {
    const pool = newPool(3)
    const working = begin(pool)
    await settle()
    driver.connecting = () => Promise.reject(new Error('too many connections'))
    const waiting = [watch(pool.run(self)), watch(pool.run(self))]
    await settle()
    working.resolve('')
    await passSlowly(PAUSE)
    for (const { value } of waiting) assert.equal(value, working.got.connection)
  })

  it('says at once while the store is being opened that none can be made', async () => {
    const pool = new ConnectionPool<FakeConnection>(driver, { size: 1, timeout: DEADLINE, maxAge: MAX_AGE })
    const cause = new Error('wrong password')
    driver.connecting = () => Promise.reject(cause)
    await assert.rejects(pool.run(self), cause)
    driver.meanings.set(cause, { outcome: 'refused', reason: 'connection' })
    mock.timers.tick(PAUSE)
    const isUnavailable = (error: unknown) => error instanceof StoreUnavailable && error.cause === cause
    await assert.rejects(pool.run(self), isUnavailable)
  })
})

describe('work that fails', () => {
  it('is done again if it was rolled back, and only so often', async () => {
    const conflict = meaning('conflict', 'conflict')
    const pool = newPool(1)
    const some = failing(ATTEMPTS - 1, conflict)
    const done = watch(pool.run(some.work))
    await passSlowly(ATTEMPTS * PAUSE)
    assert.deepEqual([done.state, some.count()], ['fulfilled', ATTEMPTS])
    const many = failing(ATTEMPTS, conflict)
    const refused = watch(pool.run(many.work))
    await passSlowly(ATTEMPTS * PAUSE)
    assert.ok(refused.error instanceof StoreUnavailable)
    assert.equal(many.count(), ATTEMPTS)
    const once = failing(1, conflict)
    await assert.rejects(pool.run(once.work, { attempts: 1 }), StoreUnavailable)
    assert.equal(once.count(), 1)
  })

  it('is done again only until the deadline of the first attempt', async () => {
    const errors: Error[] = []
    const work = async () => {
      errors.push(meaning('conflict'))
      await new Promise((resolve) => setTimeout(resolve, 1500))
      throw errors.at(-1)
    }
    const use = watch(newPool(1).run(work))
    await passSlowly(DEADLINE - 1)
    assert.deepEqual([use.state, errors.length], ['pending', 3])
    await pass(1)
    assert.ok(use.error instanceof StoreUnavailable)
    assert.equal(use.error.cause, errors[1], 'it tells why it was not done before')
  })

  for (const [kind, losses, tries] of [
    ['read', 3, 4],
    ['read', 9, 4],
    ['write', 1, 1],
  ] as const) {
    it(`is done again after a lost connection if it is a read, three times (${kind}, lost ${losses} times)`, async () => {
      const { count, work } = failing(losses, meaning('lost', 'connection'))
      const use = watch(newPool(1).run(work, { kind }))
      await passSlowly(5 * PAUSE)
      assert.equal(count(), tries)
      if (losses < tries && kind === 'read') assert.equal(use.state, 'fulfilled')
      else assert.ok(use.error instanceof StoreUnavailable && use.error.nothingWritten === (kind === 'read'))
    })
  }

  it('is not done again if it may not, except for connecting', async () => {
    let tries = 0
    driver.connecting = async () => {
      if (++tries < 3) throw new Error('refused')
    }
    const pool = newPool(1)
    for (const outcome of ['conflict', 'moved', 'late'] as const) {
      const error = meaning(outcome)
      const { count, work } = failing(9, error)
      const use = watch(pool.run(work, { isRepeatable: false }))
      await passSlowly(4 * PAUSE)
      assert.deepEqual([use.error, count()], [error, 1])
    }
    assert.ok(tries >= 3)
  })

  it('is done again after pauses that double, and not after the pool is closed', async () => {
    const pool = newPool(1)
    const { count, work } = failing(9, meaning('conflict', 'conflict'))
    const use = watch(pool.run(work))
    await settle()
    for (const [pause, tries] of [
      [50, 2],
      [100, 3],
    ] as const) {
      await passSlowly(pause - 1)
      assert.equal(count(), tries - 1)
      await passSlowly(1)
      assert.equal(count(), tries)
    }
    const closing = pool.close()
    await passSlowly(PAUSE)
    await closing
    assert.ok(use.error instanceof StoreUnavailable)
    assert.equal(count(), 3)
  })

  it('has certainly done nothing if the server refused it, or if the pool says so', () => {
    const pool = newPool(1)
    assert.ok(pool.hasDoneNothing(meaning('refused')))
    assert.ok(pool.hasDoneNothing(new StoreUnavailable('too late', { nothingWritten: true })))
    assert.ok(!pool.hasDoneNothing(new StoreUnavailable('too late')))
    assert.ok(!pool.hasDoneNothing(new Error('lost')))
  })

  it('is StoreUnavailable if the database is, and its cause is told once', async () => {
    const cause = meaning('unknown', 'connection', 'timeout expired')
    await assert.rejects(newPool(1).run(failing(1, cause).work), (error) => {
      assert.ok(error instanceof StoreUnavailable)
      assert.deepEqual([error.cause, error.reason], [cause, 'connection'])
      // The log adds the cause to the message.
      assert.equal(error.message, 'the database server failed')
      assert.equal(describeError(error), 'the database server failed: timeout expired')
      return true
    })
  })

  it('says that a write came too late, and not how the server put it', async () => {
    const cause = meaning('late', 'timeout', 'cannot take square root of a negative number')
    const { work, count } = failing(Number.POSITIVE_INFINITY, cause)
    const pool = newPool(2)
    const other = begin(pool)
    await settle()
    const use = watch(pool.run(work))
    await passSlowly(PAUSE)
    other.resolve('')
    await settle()
    assert.equal(other.got.connection?.state, 'destroyed', 'it does not know the new time of the clock')
    await passSlowly(DEADLINE - PAUSE)
    assert.ok(count() > 1, 'the clock of the server was perhaps set')
    assert.ok(use.error instanceof StoreUnavailable && use.error.nothingWritten)
    assert.equal(use.error.reason, 'timeout')
    assert.match(describeError(use.error), /^the write reached the database server after its deadline[^:]*$/)
  })

  it('throws its own error otherwise, or the reason of the signal', async () => {
    const own = new Error('own')
    await assert.rejects(newPool(1).run(failing(1, own).work), own)
    const reason = meaning('lost', 'connection')
    const { work, count } = failing(0, own)
    await assert.rejects(newPool(1).run(work, { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(count(), 0)
    const aborting = new AbortController()
    const abort = async () => {
      aborting.abort(reason)
      throw own
    }
    await assert.rejects(newPool(1).run(abort, { signal: aborting.signal }), reason)
  })
})
