import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { beforeEach, describe, it, mock } from 'node:test'
import { FakeDriver, forever, mockTime, newPool, pass, self, settle, watch } from './fake-driver.ts'

const SIZE = 3

beforeEach(mockTime)

describe('closing a pool of connections', () => {
  it('ends those that are idle', async () => {
    const driver = new FakeDriver()
    const pool = newPool(SIZE, driver)
    await Promise.all([pool.run(self), pool.run(self)])
    await pool.close()
    assert.deepEqual(
      driver.made.map(({ state }) => state),
      ['ended', 'ended'],
    )
  })

  it('does nothing where there are none', () => newPool(SIZE, new FakeDriver()).close())

  it('waits for what is being done, and for what waits to be done', async () => {
    const driver = new FakeDriver()
    const pool = newPool(1, driver)
    const work = Promise.withResolvers<void>()
    const uses = [watch(pool.run(() => work.promise)), watch(pool.run(self))]
    await settle()
    const closing = watch(pool.close())
    await settle()
    assert.equal(closing.state, 'pending')
    assert.equal(driver.made[0]?.state, 'open')
    work.resolve()
    await closing.promise
    assert.deepEqual(
      uses.map(({ state }) => state),
      ['fulfilled', 'fulfilled'],
    )
    assert.equal(driver.open, 0)
  })

  it('waits for a connection that is being made, and ends it', async () => {
    const driver = new FakeDriver()
    const late = Promise.withResolvers<void>()
    driver.connecting = () => late.promise
    const pool = newPool(1, driver)
    const use = watch(pool.run(self))
    mock.timers.tick(4000)
    await settle()
    assert.equal(use.state, 'rejected')
    const closing = watch(pool.close())
    await settle()
    assert.equal(closing.state, 'pending')
    late.resolve()
    await closing.promise
    assert.equal(driver.open, 0)
  })

  it('leaves no connection to those that wait until another can be made', async () => {
    const driver = new FakeDriver()
    driver.connecting = () => Promise.reject(new Error('boom'))
    const pool = newPool(1, driver)
    const failed = watch(pool.run(self))
    await settle()
    const waiting = watch(pool.run(self))
    driver.connecting = async () => {}
    await pool.close()
    await pass(5000)
    assert.deepEqual([failed.state, waiting.state], ['rejected', 'rejected'])
    assert.deepEqual(driver.made, [])
  })

  it('destroys what cannot be ended', async () => {
    const driver = new FakeDriver()
    driver.ending = () => Promise.reject(new Error('boom'))
    const pool = newPool(SIZE, driver)
    await pool.run(self)
    await pool.close()
    assert.equal(driver.made[0]?.state, 'destroyed')
  })

  it('does not wait for a server that does not answer', async () => {
    const driver = new FakeDriver()
    driver.ending = forever
    const pool = newPool(SIZE, driver)
    await pool.run(self)
    const closing = watch(pool.close())
    mock.timers.tick(4000)
    await closing.promise
    assert.equal(driver.made[0]?.state, 'destroyed')
  })

  it('leaves nothing behind that keeps the process from ending', () => {
    const file = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      import { FakeDriver, newPool } from ${file('./fake-driver.ts')}
      const pool = newPool(2, new FakeDriver())
      const uses = Array.from({ length: 20 }, (_, i) => pool.run(async () => { if (i % 3 === 0) throw i }))
      uses.push(pool.run(() => new Promise(() => {}), { time: 1 }))
      await Promise.allSettled(uses)
      await pool.close()
      console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    assert.equal(stdout, '0\n', stderr)
  })
})
