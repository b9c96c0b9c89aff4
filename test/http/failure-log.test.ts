import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { failure } from '../../src/http/envelope.ts'
import { handleErrors } from '../../src/http/error-handler.ts'
import { FailureLog } from '../../src/http/failure-log.ts'
import { serializeError } from '../../src/observability/logging.ts'

/** How often failures are summed up, in milliseconds. */
const INTERVAL = 10_000

const [INFO, ERROR] = [30, 50]

const FAILED = [ERROR, 'a request failed because the store is unavailable']
const MORE = [ERROR, 'more requests failed because the store is unavailable']
const OVER = [INFO, 'the store is available again']

interface Line {
  readonly level: number
  readonly msg: string
  readonly reqId?: string
  readonly method?: string
  readonly route?: string
  readonly failed?: number
  readonly causes?: Record<string, number>
  readonly total?: number
  readonly seconds?: number
  readonly err?: { type: string; reason?: string; message: string; stack?: string }
}

const refused = (port: number) =>
  new StoreUnavailable('the database server failed', {
    cause: new Error(`connect ECONNREFUSED 127.0.0.1:${port}`),
    reason: 'connection',
  })
const REFUSED = 'the database server failed: connect ECONNREFUSED 127.0.0.1:1'

let app: FastifyInstance
let lines: Line[]
/** What the store says when it is asked whether it is ready. */
let ready: () => Promise<void>
/** What the next request throws. */
let error: Error

beforeEach(() => {
  mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1_000_000 })
  lines = []
  ready = async () => {}
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  app = fastify({
    logger: { stream, serializers: { err: serializeError } },
    logController: new LogController({ disableRequestLogging: true }),
  })
  const failures = new FailureLog(app.log, () => ready())
  handleErrors(app, failures)
  app.addHook('onClose', async () => failures.close())
  app.get('/book/:id', () => {
    throw error
  })
  app.get('/books', ({ raw, signal }) => {
    raw.emit('close')
    throw signal.reason
  })
})
afterEach(async () => {
  await app.close()
  mock.timers.reset()
})

async function fail(...errors: Error[]): Promise<void> {
  for (error of errors) await app.inject('/book/17?password=hunter2')
}

const unready = () => Promise.reject(refused(0))

/** The lines since the last call. */
const logged = () => lines.splice(0)
const messages = () => logged().map(({ level, msg }) => [level, msg])
const sums = () => logged().map(({ msg, failed, causes }) => [msg, failed, causes])

async function pass(time: number): Promise<void> {
  mock.timers.tick(time)
  // The store is asked then.
  await setImmediate()
}

describe('while the store is unavailable', () => {
  it('the first failure has a line with its cause and request, and the others are counted', async () => {
    await fail(refused(1), refused(2), refused(3))
    const [first = assert.fail('no line'), ...others] = logged()
    const { level, msg, method, route, reqId, err } = first
    assert.deepEqual([level, msg, method, route, reqId], [...FAILED, 'GET', '/book/:id', 'req-1'])
    assert.deepEqual(err, { type: 'StoreUnavailable', reason: 'connection', message: REFUSED })
    assert.doesNotMatch(JSON.stringify(first), /hunter2/)
    assert.deepEqual(others, [])
    await pass(INTERVAL - 1)
    assert.deepEqual(logged(), [])
    await pass(1)
    assert.deepEqual(sums(), [[MORE[1], 2, { [REFUSED]: 2 }]])
    await fail(refused(4))
    await pass(INTERVAL)
    assert.deepEqual(sums(), [[MORE[1], 1, { [REFUSED]: 1 }]])
  })

  it('each new cause has one line, and the repeats of each are counted', async () => {
    const locked = () => new StoreUnavailable('database is locked', { reason: 'conflict' })
    await fail(refused(1), locked(), refused(2), locked(), locked())
    assert.deepEqual(messages(), [FAILED, FAILED])
    await pass(INTERVAL)
    assert.deepEqual(sums(), [[MORE[1], 3, { [REFUSED]: 1, 'database is locked': 2 }]])
  })

  it('no more than ten causes are told apart', async () => {
    const causes = Array.from({ length: 13 }, (_, i) => new StoreUnavailable(`cause ${'x'.repeat(i)}`))
    await fail(...causes)
    assert.equal(logged().length, 10)
    await fail(...causes)
    await pass(INTERVAL)
    const [sum] = logged()
    assert.equal(sum?.failed, 16)
    assert.equal(Object.keys(sum?.causes ?? {}).length, 11)
    assert.equal(sum?.causes?.['other causes'], 6)
  })

  it('without requests there are no lines, and it goes on', async () => {
    ready = unready
    await fail(refused(1))
    await pass(10 * INTERVAL)
    assert.deepEqual(messages(), [FAILED])
    await fail(refused(2))
    await pass(INTERVAL)
    assert.deepEqual(messages(), [MORE])
  })
})

describe('the end of an outage', () => {
  it('is logged once nothing fails any more and the store is ready: how long it lasted, how many failed', async () => {
    ready = unready
    await fail(refused(1))
    await pass(4200)
    await fail(refused(2))
    await pass(3 * INTERVAL)
    assert.deepEqual(messages(), [FAILED, MORE])
    ready = async () => {}
    await pass(INTERVAL)
    assert.deepEqual(
      logged().map(({ level, msg, total, seconds }) => [level, msg, total, seconds]),
      [[...OVER, 2, 4.2]],
    )
    await pass(10 * INTERVAL)
    assert.deepEqual(logged(), [])
  })

  it('has not come while something fails, although the store says that it is ready', async () => {
    for (let i = 0; i < 3; i++) {
      await fail(refused(i))
      await pass(INTERVAL)
    }
    await fail(new StoreUnavailable('another cause'))
    await pass(INTERVAL)
    assert.deepEqual(messages(), [FAILED, MORE, MORE, FAILED])
    await pass(INTERVAL)
    assert.deepEqual(messages(), [OVER])
  })

  for (const [what, failsMeanwhile, expected] of [
    ['has not come if something fails while the store is asked', true, [FAILED]],
    ['is logged once, however long the store takes to say that it is ready', false, [FAILED, OVER]],
  ] as const)
    it(what, async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      ready = () => promise
      await fail(refused(1))
      for (let i = 0; i < 4; i++) await pass(INTERVAL)
      if (failsMeanwhile) await fail(refused(2))
      resolve()
      await setImmediate()
      assert.deepEqual(messages(), expected)
    })

  it('comes soon after a single failure, and the next one has its line again', async () => {
    for (let i = 0; i < 2; i++) {
      await fail(refused(1))
      await pass(2 * INTERVAL)
      assert.deepEqual(messages(), [FAILED, OVER])
    }
  })
})

it('a request has no line if it is refused for now, or if its client has gone', async () => {
  await fail(failure.unavailable)
  assert.equal((await app.inject('/books')).statusCode, 500)
  assert.deepEqual(logged(), [])
})

it('when the service ends, the failures that have no line yet are counted', async () => {
  await fail(refused(1), refused(2), refused(3))
  await pass(INTERVAL)
  await fail(refused(4))
  logged()
  await app.close()
  assert.deepEqual(sums(), [[MORE[1], 1, { [REFUSED]: 1 }]])
})

describe('what a line says of an error', () => {
  async function errorOf(thrown: Error) {
    await fail(thrown)
    return logged()[0]?.err ?? assert.fail('no line')
  }

  it('that is unexpected: each has its line, with its stack and those of its causes', async () => {
    for (let time = 0; time < 2; time++) {
      await fail(new TypeError('no', { cause: new RangeError('too far') }))
      const [{ level, msg, method, route, err } = assert.fail('no line')] = logged()
      assert.deepEqual([level, msg, method, route], [ERROR, 'Internal server error', 'GET', '/book/:id'])
      assert.deepEqual([err?.type, err?.message], ['TypeError', 'no: too far'])
      assert.match(
        err?.stack ?? '',
        /^TypeError: no\n +at .*failure-log.*\ncaused by: RangeError: too far\n +at /s,
      )
    }
  })

  it('that says its cause already: once', async () => {
    const cause = new Error('database is locked')
    const err = await errorOf(new StoreUnavailable('database is locked', { cause, reason: 'conflict' }))
    assert.equal(JSON.stringify(err).match(/locked/g)?.length, 1)
  })

  it('of the store whose reason is not known: the stack of its cause, and of nothing else', async () => {
    const cause = new TypeError('a defect')
    const err = await errorOf(new StoreUnavailable('the store does not answer', { cause }))
    assert.deepEqual([err.reason, err.message], ['other', 'the store does not answer: a defect'])
    assert.match(err.stack ?? '', /^TypeError: a defect\n +at /)
    assert.doesNotMatch(err.stack ?? '', /does not answer/)
  })

  it('of the store that has another as its cause: the reason of that one', async () => {
    const err = await errorOf(new StoreUnavailable('the store does not answer', { cause: refused(1) }))
    const message = `the store does not answer: ${REFUSED}`
    assert.deepEqual(err, { type: 'StoreUnavailable', reason: 'connection', message })
  })
})
