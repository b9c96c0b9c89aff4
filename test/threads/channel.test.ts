import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../../src/catalogue/store.ts'
import { OperatorError } from '../../src/errors.ts'
import { connect } from '../../src/threads/channel.ts'

describe('the errors of calls between threads', () => {
  const { port1, port2 } = new MessageChannel()
  after(() => port1.close())
  let thrown: unknown
  connect(port1, {
    fail: async () => {
      throw thrown
    },
  })
  const { fail } = connect<{ fail(): Promise<void> }, object>(port2, {})

  /** The error as the other side gets it. */
  async function received(error: unknown): Promise<Error> {
    thrown = error
    return fail().then(
      () => assert.fail('there is no error'),
      (got: Error) => got,
    )
  }

  for (const error of [
    new StoreNotEmpty(),
    new OperatorError('PORT: is in use'),
    new Error('x'),
    new TypeError('y'),
  ]) {
    it(`have their class if it matters, and their message: ${error.constructor.name}`, async () => {
      const got = await received(error)
      assert.equal(got.message, error.message)
      assert.equal(got.constructor, error instanceof TypeError ? Error : error.constructor)
      assert.equal(got.stack?.includes(error.message), true)
    })
  }

  it('have their cause, and say why the store is unavailable', async () => {
    const cause = new Error('the disk is full')
    const got = await received(new StoreUnavailable('x', { cause, reason: 'disk', nothingWritten: true }))
    assert.ok(got instanceof StoreUnavailable)
    assert.deepEqual([got.message, got.reason, got.nothingWritten], ['x', 'disk', true])
    assert.equal((got.cause as Error).message, 'the disk is full')
    const notOpened = await received(new StoreNotOpened('x', { cause }))
    assert.ok(notOpened instanceof StoreNotOpened)
    assert.deepEqual([notOpened.message, (notOpened.cause as Error).message], ['x', 'the disk is full'])
    assert.equal((await received(new AggregateError([cause]))).message, 'the disk is full')
  })

  it('arrive if they cannot be cloned', async () => {
    const unclonable = () => {}
    const error = Object.assign(new Error('x', { cause: unclonable }), { connection: unclonable })
    assert.match((await received(error)).message, /^x/)
    const unavailable = new StoreUnavailable('y', { cause: Object.assign(new Error('z'), { unclonable }) })
    assert.equal(((await received(unavailable)).cause as Error).message, 'z')
    assert.match((await received(unclonable)).message, /=>/)
  })
})
