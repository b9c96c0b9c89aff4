import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
import { describeError } from '../../../src/errors.ts'
import {
  begin,
  DEADLINE,
  driver,
  forever,
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

const READ_ONLY = new Error('read-only')

useDriver()

describe('what goes wrong with a connection', () => {
  for (const [how, fail] of [
    ['fails', async () => assert.fail('boom')],
    [
      'throws',
      () => {
        throw new Error('boom')
      },
    ],
  ] as const) {
    it(`destroys it when its work ${how}, and who waits gets a new one`, async () => {
      const pool = newPool(1)
      const [first, second] = [watch(pool.run<unknown>(fail)), watch(pool.run(self))]
      await settle()
      assert.match(String(first.error), /boom/)
      assert.equal(driver.made[0]?.state, 'destroyed')
      assert.equal(second.value, driver.made[1])
      assert.equal(driver.peak, 1)
    })
  }

  it('is expected of those too that were idle since its work began, and not of those that worked', async () => {
    const pool = newPool(3)
    const [idle, failing, working] = [begin(pool), begin(pool), begin(pool)]
    await settle()
    idle.resolve('')
    await settle()
    failing.resolve('')
    await pass(1)
    const again = begin(pool)
    await settle()
    assert.equal(again.got.connection, failing.got.connection)
    working.resolve('')
    await settle()
    again.reject(new Error('boom'))
    await settle()
    assert.equal(idle.got.connection?.state, 'destroyed')
    assert.equal(working.got.connection?.state, 'open')
    assert.equal(driver.open, 1)
  })

  it('is not expected of those that are idle when work is given up', async () => {
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

  it('while it is idle: it is not used again', async () => {
    const pool = newPool(1)
    const lost = await pool.run(self)
    driver.lose(lost)
    assert.notEqual(await pool.run(self), lost)
    assert.equal(lost.state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('just as its work is done: it is not used again', async () => {
    const pool = newPool(1)
    const lost = await pool.run(async (connection) => {
      driver.lose(connection)
      return connection
    })
    assert.notEqual(await pool.run(self), lost)
    assert.equal(lost.state, 'destroyed')
  })

  it('while it is idle for long: none that was is used again, and none is waited for', async () => {
    driver.ending = forever
    const pool = newPool(3)
    const uses = [begin(pool), begin(pool), begin(pool)]
    await settle()
    for (const { resolve } of uses) resolve('')
    await settle()
    mock.timers.tick(MAX_IDLE_TIME)
    const [old] = [await pool.run(self)]
    assert.equal(old, driver.made[2])
    mock.timers.tick(MAX_IDLE_TIME + 1)
    assert.equal(await pool.run(self), driver.made[3])
    for (const { state } of driver.made.slice(0, 3)) assert.equal(state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('that became read-only renews all: others finish their work, and the work is done again', async () => {
    driver.errors.isReadOnly = (error) => error === READ_ONLY
    const pool = newPool(3)
    const [idle, failing, working] = [begin(pool), begin(pool), begin(pool)]
    await settle()
    idle.resolve('')
    await settle()
    failing.reject(READ_ONLY)
    await settle()
    assert.equal(idle.got.connection?.state, 'destroyed')
    assert.equal(working.got.connection?.state, 'open')
    assert.equal(failing.got.connection, driver.made[3])
    // The work of this test fails in the same way again: now that is its result.
    await settle()
    assert.equal(failing.use.error, READ_ONLY)
    working.resolve('done')
    await settle()
    assert.equal(working.use.value, 'done')
    assert.equal(working.got.connection?.state, 'destroyed')
    assert.equal(driver.open, 0)
  })

  it('while it is made: the error is for who asked, and the next that waits tries again', async () => {
    const attempts: PromiseWithResolvers<void>[] = []
    driver.connecting = () => {
      const attempt = Promise.withResolvers<void>()
      attempts.push(attempt)
      return attempt.promise
    }
    const pool = newPool(1)
    const uses = [watch(pool.run(self)), watch(pool.run(self)), watch(pool.run(self))]
    attempts[0]?.reject(new Error('first'))
    await settle()
    attempts[1]?.reject(new Error('second'))
    await settle()
    attempts[2]?.resolve()
    await settle()
    assert.match(String(uses[0]?.error), /first/)
    assert.match(String(uses[1]?.error), /second/)
    assert.equal(uses[2]?.value, driver.made[0])
    assert.equal(driver.peak, 1)
  })

  it('while it is made, after the deadline of who asked: its place is free again', async () => {
    const late = Promise.withResolvers<void>()
    driver.connecting = () => late.promise
    const pool = newPool(1)
    const first = begin(pool)
    await pass(DEADLINE)
    assert.ok(first.use.error instanceof StoreUnavailable)
    late.reject(new Error('boom'))
    await settle()
    driver.connecting = async () => {}
    assert.equal(await pool.run(self), driver.made[0])
  })
})

describe('work that fails', () => {
  /** Work that fails so often, and how often it was tried. */
  function failing(times: number, error: Error) {
    const tried = { count: 0, work: async () => {} }
    tried.work = async () => {
      if (++tried.count <= times) throw error
    }
    return tried
  }

  it('is done again if it was rolled back, and only so often', async () => {
    const conflict = new Error('deadlock')
    driver.errors.isRolledBack = (error) => error === conflict
    driver.errors.isUnavailable = driver.errors.isRolledBack
    const pool = newPool(1)
    const some = failing(ATTEMPTS - 1, conflict)
    await pool.run(some.work)
    assert.equal(some.count, ATTEMPTS)
    const many = failing(ATTEMPTS, conflict)
    await assert.rejects(pool.run(many.work), StoreUnavailable)
    assert.equal(many.count, ATTEMPTS)
    const once = failing(1, conflict)
    await assert.rejects(pool.run(once.work, { attempts: 1 }), StoreUnavailable)
    assert.equal(once.count, 1)
  })

  it('is done again only until the deadline of the first attempt', async () => {
    driver.errors.isRolledBack = () => true
    let attempts = 0
    const work = async () => {
      attempts++
      await new Promise((resolve) => setTimeout(resolve, 1500))
      throw new Error('deadlock')
    }
    const use = watch(newPool(1).run(work))
    await pass(DEADLINE - 1)
    assert.deepEqual([use.state, attempts], ['pending', 3])
    await pass(1)
    assert.ok(use.error instanceof StoreUnavailable)
  })

  it('is StoreUnavailable if the database is, and its cause is told once', async () => {
    const cause = new Error('timeout expired')
    driver.errors.isUnavailable = (error) => error === cause
    const { work } = failing(1, cause)
    await assert.rejects(newPool(1).run(work), (error) => {
      assert.ok(error instanceof StoreUnavailable)
      assert.equal(error.cause, cause)
      // The log adds the cause to the message.
      assert.equal(error.message, 'the database server failed')
      assert.equal(describeError(error), 'the database server failed: timeout expired')
      return true
    })
  })

  it('throws its own error otherwise, or the reason of the signal', async () => {
    const own = new Error('own')
    await assert.rejects(newPool(1).run(failing(1, own).work), own)
    const reason = new Error('reason')
    const aborting = new AbortController()
    const run = newPool(1).run(
      async () => {
        aborting.abort(reason)
        throw own
      },
      { signal: aborting.signal },
    )
    await assert.rejects(run, reason)
  })
})
