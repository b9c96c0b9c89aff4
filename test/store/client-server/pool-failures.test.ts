import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/catalogue/store.ts'
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
      const [first, second] = [watch(pool.use<unknown>(fail)), watch(pool.use(self))]
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

  it('while it is idle: it is not used again', async () => {
    const pool = newPool(1)
    const lost = await pool.use(self)
    driver.lose(lost)
    assert.notEqual(await pool.use(self), lost)
    assert.equal(lost.state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('just as its work is done: it is not used again', async () => {
    const pool = newPool(1)
    const lost = await pool.use(async (connection) => {
      driver.lose(connection)
      return connection
    })
    assert.notEqual(await pool.use(self), lost)
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
    const [old] = [await pool.use(self)]
    assert.equal(old, driver.made[2])
    mock.timers.tick(MAX_IDLE_TIME + 1)
    assert.equal(await pool.use(self), driver.made[3])
    for (const { state } of driver.made.slice(0, 3)) assert.equal(state, 'destroyed')
    assert.equal(driver.open, 1)
  })

  it('and all others that there are, once they are to be renewed: each does what it is doing, and no more', async () => {
    const pool = newPool(3)
    const [idle, working] = [begin(pool), begin(pool)]
    await settle()
    idle.resolve('')
    await settle()
    pool.renew()
    assert.equal(idle.got.connection?.state, 'destroyed')
    assert.equal(working.got.connection?.state, 'open')
    const next = begin(pool)
    await settle()
    assert.equal(next.got.connection, driver.made[2])
    working.resolve('done')
    await settle()
    assert.equal(working.use.value, 'done')
    assert.equal(working.got.connection?.state, 'destroyed')
    next.resolve('')
    await settle()
    assert.equal(await pool.use(self), next.got.connection)
    assert.equal(driver.open, 1)
  })

  it('while it is made: the error is for who asked, and the next that waits tries again', async () => {
    const attempts: PromiseWithResolvers<void>[] = []
    driver.connecting = () => {
      const attempt = Promise.withResolvers<void>()
      attempts.push(attempt)
      return attempt.promise
    }
    const pool = newPool(1)
    const uses = [watch(pool.use(self)), watch(pool.use(self)), watch(pool.use(self))]
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
    assert.equal(await pool.use(self), driver.made[0])
  })
})
