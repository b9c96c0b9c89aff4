import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../../src/catalogue/store.ts'
import { OperatorError } from '../../src/errors.ts'
import { Rpc } from '../../src/threads/rpc.ts'

describe('the errors of calls between threads', () => {
  const { port1, port2 } = new MessageChannel()
  after(() => port1.close())
  let thrown: unknown
  new Rpc<object>(port1, {
    fail: () => {
      throw thrown
    },
  })
  const other = new Rpc<{ fail(): void }>(port2, {})

  /** The error as the other side gets it. */
  async function received(error: unknown): Promise<Error> {
    thrown = error
    return other.call('fail').then(
      () => assert.fail('there is no error'),
      (got: Error) => got,
    )
  }

  for (const error of [new StoreNotEmpty(), new OperatorError('in use'), new Error('x'), new TypeError('y')])
    it(`have their class if it matters, and their message: ${error.constructor.name}`, async () => {
      const got = await received(error)
      assert.equal(got.message, error.message)
      assert.equal(got.constructor, error instanceof TypeError ? Error : error.constructor)
      assert.ok(got.stack?.includes(error.message))
    })

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

describe('calls of another thread', () => {
  interface Functions {
    later(): Promise<string>
    now(value: unknown): unknown
    port(): MessagePort
  }

  function connected(functions: Partial<Functions>) {
    const { port1, port2 } = new MessageChannel()
    return { served: new Rpc<object>(port1, functions), calling: new Rpc<Functions>(port2, {}) }
  }

  it('are answered in any order, each with its own result', async (t) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { served, calling } = connected({ later: () => promise, now: (value) => value })
    t.after(() => served.close())
    const later = calling.call('later')
    const values = await Promise.all([1, undefined, { a: [null] }].map((value) => calling.call('now', value)))
    assert.deepEqual(values, [1, undefined, { a: [null] }])
    resolve('late')
    assert.equal(await later, 'late')
  })

  it('fail alone if they have a value that cannot be sent, or if that is their result', async (t) => {
    const { served, calling } = connected({ now: (value) => (value === 1 ? () => {} : value) })
    t.after(() => served.close())
    const sent = calling.call('now', () => {})
    await assert.rejects(sent, /could not be cloned/)
    await assert.rejects(calling.call('now', 1), /could not be cloned/)
    assert.equal(await calling.call('now', 2), 2)
  })

  it('hand over ports', async (t) => {
    const { port1, port2 } = new MessageChannel()
    const { served, calling } = connected({ port: () => port2 })
    t.after(() => served.close())
    new Rpc<object>(port1, { now: (value: unknown) => value })
    const handed = new Rpc<Functions>(await calling.call('port'), {})
    assert.equal(await handed.call('now', 3), 3)
    handed.close()
  })

  for (const side of ['served', 'calling'] as const) {
    it(`fail when the ${side} end is closed, before and afterwards`, async () => {
      const ends = connected({ later: () => new Promise(() => {}) })
      const waiting = assert.rejects(ends.calling.call('later'))
      await nextTurn()
      ends[side].close()
      await waiting
      await assert.rejects(ends.calling.call('now', 1))
    })
  }

  it('are handled in the middle of other work if the thread looks for them', async (t) => {
    const seen: unknown[] = []
    const { served, calling } = connected({ now: (value) => seen.push(value) })
    t.after(() => served.close())
    const call = calling.call('now', 1)
    await nextTurn()
    served.receiveNow()
    assert.deepEqual(seen, [1])
    await call
  })
})
