import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../../src/catalogue/store.ts'
import { OperatorError } from '../../src/errors.ts'
import { Rpc } from '../../src/threads/rpc.ts'

describe('calls of another thread', () => {
  const { port1, port2 } = new MessageChannel()
  after(() => port1.close())
  let thrown: unknown
  new Rpc<object>(port1, {
    echo: (value: unknown) => (value === 1 ? () => {} : value),
    fail() {
      throw thrown
    },
  })
  const other = new Rpc<{ echo(value: unknown): unknown; fail(): void }>(port2, {})

  /** The error as the other side gets it. */
  async function received(error: unknown): Promise<Error> {
    thrown = error
    return other.call('fail').then(
      () => assert.fail('there is no error'),
      (got: Error) => got,
    )
  }

  it('fail alone if they have a value that cannot be sent, or if that is their result', async () => {
    const sent = other.call('echo', () => {})
    await assert.rejects(sent, /could not be cloned/)
    await assert.rejects(other.call('echo', 1), /could not be cloned/)
    assert.equal(await other.call('echo', 2), 2)
  })

  it('throw errors with their class if it matters and their cause, and say why the store is unavailable', async () => {
    const cause = new Error('the disk is full')
    const got = await received(new StoreUnavailable('x', { cause, reason: 'disk', nothingWritten: true }))
    assert.ok(got instanceof StoreUnavailable)
    assert.deepEqual([got.message, got.reason, got.nothingWritten], ['x', 'disk', true])
    assert.equal((got.cause as Error).message, 'the disk is full')
    assert.equal((await received(new AggregateError([cause]))).message, 'the disk is full')
    assert.equal((await received(cause)).cause, undefined)
    for (const error of [new StoreNotOpened('x'), new StoreNotEmpty(), new OperatorError('in use')])
      assert.equal((await received(error)).constructor, error.constructor)
  })

  it('throw errors that cannot be cloned', async () => {
    const unclonable = () => {}
    const error = Object.assign(new Error('x', { cause: unclonable }), { connection: unclonable })
    assert.match((await received(error)).message, /^x/)
    assert.match((await received(unclonable)).message, /=>/)
  })
})
