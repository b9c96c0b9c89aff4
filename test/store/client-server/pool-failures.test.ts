import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import type { ErrorMeaning } from '../../../src/store/client-server/errors.ts'
import { ConnectionPool, type RunOptions } from '../../../src/store/client-server/pool.ts'
import {
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

  for (const outcome of ['refused', 'conflict'] as const)
    it(`keeps all when the server did nothing (${outcome}), and gives back none before its transaction has ended`, async () => {
      const ending = Promise.withResolvers<void>()
      driver.resetting = () => ending.promise
      const pool = newPool(2)
      const idle = watch(pool.run(self))
      const work = Promise.withResolvers<never>()
      const failed = watch(pool.run(() => work.promise, { isRepeatable: false }))
      await pass(1)
      work.reject(meaning(outcome))
      await settle()
      assert.deepEqual([failed.state, await pool.run(self)], ['rejected', idle.value])
      const [, next] = await beginAll(pool, 2)
      assert.equal(next?.got.connection, undefined)
      ending.resolve()
      await settle()
      assert.ok(next?.got.connection)
      assert.deepEqual([driver.open, driver.made.length], [2, 2])
    })

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
    const [idle, lost, working] = await beginAll(pool, 3)
    assert.ok(idle && lost && working)
    await endAll(idle)
    await endAll(lost)
    await pass(1)
    const [again] = await beginAll(pool, 1)
    assert.equal(again?.got.connection, lost.got.connection)
    await endAll(working)
    again?.reject(meaning('lost'))
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

  it('does not use those again that were idle for long, and waits for none of them', async () => {
    driver.ending = forever
    const pool = newPool(3)
    await endAll(...(await beginAll(pool, 3)))
    mock.timers.tick(MAX_IDLE_TIME)
    assert.equal(await pool.run(self), driver.made[2])
    mock.timers.tick(MAX_IDLE_TIME + 1)
    assert.equal(await pool.run(self), driver.made[3])
    for (const { state } of driver.made.slice(0, 3)) assert.equal(state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('renews all when one has become read-only: others finish their work, and the work is done again', async () => {
    const pool = newPool(3)
    const [idle, ...working] = await beginAll(pool, 3)
    assert.ok(idle)
    await endAll(idle)
    const write = watch(pool.run(failing(2, meaning('moved')).work))
    await settle()
    assert.equal(idle.got.connection?.state, 'destroyed')
    await passSlowly(2 * PAUSE)
    assert.equal(write.value, driver.made.at(-1))
    for (const each of working) {
      assert.equal(each.got.connection?.state, 'open')
      await endAll(each)
      assert.deepEqual([each.use.value, each.got.connection.state], ['done', 'destroyed'])
    }
    assert.equal(driver.open, 1)
  })

  it('renews all once, however many callers find them read-only at the same time', async () => {
    const pool = newPool(4)
    const [first, second] = await beginAll(pool, 2)
    first?.reject(meaning('moved'))
    await settle()
    const fresh = await pool.run(self, { kind: 'read' })
    await pass(1)
    second?.reject(meaning('moved'))
    await settle()
    // It is idle since the work of the second began, but it was made after the first had failed.
    assert.equal(fresh.state, 'open')
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
    // That failure is over.
    await beginAll(pool, 2)
    const waiting = watch(pool.run(self, { time: 100 }))
    await passSlowly(100)
    assert.ok(waiting.error instanceof StoreUnavailable && waiting.error.cause === undefined)
  })

  it('lets callers wait for a connection that is there when no other can be made', async () => {
    const pool = newPool(3)
    const [working] = await beginAll(pool, 1)
    assert.ok(working)
    driver.connecting = () => Promise.reject(new Error('too many connections'))
    const waiting = [watch(pool.run(self)), watch(pool.run(self))]
    await endAll(working)
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
  /** What becomes of it: it is done, or fails with its own error or with StoreUnavailable. */
  type End = 'done' | 'own error' | 'nothing written' | 'not known'

  for (const [times, outcome, options, tries, end] of [
    [ATTEMPTS - 1, 'conflict', {}, ATTEMPTS, 'done'],
    [ATTEMPTS, 'conflict', {}, ATTEMPTS, 'nothing written'],
    [1, 'conflict', { attempts: 1 }, 1, 'nothing written'],
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
      // Connecting is tried again even where the work is not.
      let refusals = tries === 1 ? 2 : 0
      driver.connecting = async () => {
        if (refusals-- > 0) throw new Error('refused')
      }
      const use = watch(newPool(1).run(work, options))
      await passSlowly((ATTEMPTS + 2) * PAUSE)
      assert.equal(count(), tries)
      if (end === 'done') assert.equal(use.state, 'fulfilled')
      else if (end === 'own error') assert.equal(use.error, error)
      else {
        assert.ok(use.error instanceof StoreUnavailable)
        assert.deepEqual([use.error.nothingWritten, use.error.reason], [end !== 'not known', 'connection'])
      }
    })

  for (const [outcome, reason, says] of [
    ['moved', 'read_only', /^the database server failed: its own words$/],
    ['late', 'timeout', /^the write reached the database server after its deadline[^:]*$/],
  ] as const)
    it(`is tried on new connections until the deadline: ${outcome}`, async () => {
      const { work, count } = failing(Number.POSITIVE_INFINITY, meaning(outcome, reason, 'its own words'))
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
      assert.equal(use.error.reason, reason)
      assert.match(describeError(use.error), says)
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

  it('throws the reason of the signal when that is aborted', async () => {
    const reason = meaning('lost', 'connection')
    const { work, count } = failing(0, reason)
    await assert.rejects(newPool(1).run(work, { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(count(), 0)
    const aborting = new AbortController()
    const abort = async () => {
      aborting.abort(reason)
      throw new Error('own')
    }
    await assert.rejects(newPool(1).run(abort, { signal: aborting.signal }), reason)
  })
})
