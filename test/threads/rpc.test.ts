import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it, type TestContext } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../../src/catalogue/store.ts'
import { OperatorError } from '../../src/errors.ts'
import { Rpc } from '../../src/threads/rpc.ts'

/** Calls a function that another thread might have. */
function connect(t: TestContext, echo: (value: unknown) => unknown) {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  new Rpc<object>(port1, { echo })
  const calling = new Rpc<{ echo(value: unknown): unknown }>(port2, {})
  return (value: unknown) => calling.call('echo', value)
}

it('errors of calls between threads arrive with their class if it matters, their cause, and why the store is unavailable', async (t) => {
  let thrown: unknown
  const call = connect(t, () => {
    throw thrown
  })
  /** The error as the other side gets it. */
  async function received(error: unknown): Promise<Error> {
    thrown = error
    return call(undefined).then(
      () => assert.fail('there is no error'),
      (got: Error) => got,
    )
  }
  const cause = new Error('the disk is full')
  const got = await received(new StoreUnavailable('x', { cause, reason: 'disk', nothingWritten: true }))
  assert.ok(got instanceof StoreUnavailable)
  assert.deepEqual(
    [got.name, got.message, got.reason, got.nothingWritten],
    ['StoreUnavailable', 'x', 'disk', true],
  )
  assert.equal((got.cause as Error).message, 'the disk is full')
  assert.equal((await received(new AggregateError([cause]))).message, 'the disk is full')
  assert.equal((await received(cause)).cause, undefined)
  assert.equal((await received(cause)).stack, cause.stack)
  for (const error of [new StoreNotOpened('x'), new StoreNotEmpty(), new OperatorError('in use')])
    assert.equal((await received(error)).constructor, error.constructor)
  // What cannot be cloned.
  const unclonable = () => {}
  const unavailable = new StoreUnavailable('y', { cause: Object.assign(new Error('z'), { unclonable }) })
  assert.equal(((await received(unavailable)).cause as Error).message, 'z')
  assert.match((await received(unclonable)).message, /=>/)
  assert.equal((await received(undefined)).message, 'undefined')
})

it('calls of another thread fail alone if they have a value that cannot be sent, or if that is their result', async (t) => {
  const call = connect(t, (value) => (value === 1 ? () => {} : value))
  const sent = call(() => {})
  await assert.rejects(sent, /could not be cloned/)
  await assert.rejects(call(1), /could not be cloned/)
  assert.equal(await call(2), 2)
})

it('calls fail with the first reason for which the port was closed, and that is reported once', async () => {
  const { port1, port2 } = new MessageChannel()
  let closed = 0
  const calling = new Rpc<{ echo(): unknown }>(port2, {}, { onClose: () => closed++ })
  const unanswered = assert.rejects(calling.call('echo'), /first/)
  for (const reason of ['first', 'second']) calling.close(new Error(reason))
  await unanswered
  await assert.rejects(calling.call('echo'), /first/)
  await once(port1, 'close')
  assert.equal(closed, 1)
})

it('calls in both directions at the same time have their own results', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const functions = (own: string) => ({ name: () => own })
  const [one, other] = [
    new Rpc<{ name(): string }>(port1, functions('one')),
    new Rpc<{ name(): string }>(port2, functions('other')),
  ]
  assert.deepEqual(await Promise.all([one.call('name'), other.call('name')]), ['other', 'one'])
})
