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

const FAILED = 'a request failed because the store is unavailable'
const MORE = 'more requests failed because the store is unavailable'
const OVER = 'the store is available again'

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
let ready: Promise<void>
/** What the next request throws. */
let error: Error

beforeEach(() => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] })
  lines = []
  ready = Promise.resolve()
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) }
  app = fastify({
    logger: { stream, serializers: { err: serializeError } },
    logController: new LogController({ disableRequestLogging: true }),
  })
  const failures = new FailureLog(app.log, () => ready)
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

function unready(): Promise<void> {
  const failing = Promise.reject(refused(0))
  failing.catch(() => {})
  return failing
}

/** The lines since the last call. */
const logged = () => lines.splice(0)
const messages = () => logged().map(({ level, msg }) => [level, msg])
const pass = async (time: number) => {
  mock.timers.tick(time)
  // The store is asked then.
  await setImmediate()
}

describe('while the store is unavailable', () => {
  it('the first failure has a line with its cause and request, and the others are counted', async () => {
    await fail(refused(1), refused(2), refused(3))
    const [first, ...others] = logged()
    assert.equal(others.length, 0)
    const { level, msg, method, route, reqId, err } = first ?? assert.fail('no line')
    assert.deepEqual([level, msg, method, route, reqId], [ERROR, FAILED, 'GET', '/book/:id', 'req-1'])
    assert.deepEqual(err, { type: 'StoreUnavailable', reason: 'connection', message: REFUSED })
    assert.doesNotMatch(JSON.stringify(first), /hunter2/)

    await pass(INTERVAL - 1)
    assert.deepEqual(logged(), [])
    await pass(1)
    const [sum, ...more] = logged()
    assert.equal(more.length, 0)
    assert.deepEqual([sum?.level, sum?.msg, sum?.failed, sum?.causes], [ERROR, MORE, 2, { [REFUSED]: 2 }])

    await fail(refused(4))
    await pass(INTERVAL)
    assert.deepEqual(
      logged().map(({ failed, causes }) => [failed, causes]),
      [[1, { [REFUSED]: 1 }]],
    )
  })

  it('each new cause has one line, and the repeats of each are counted', async () => {
    const locked = () => new StoreUnavailable('database is locked', { reason: 'conflict' })
    await fail(refused(1), locked(), refused(2), locked(), locked())
    assert.deepEqual(
      logged().map(({ msg, err }) => [msg, err?.message]),
      [
        [FAILED, REFUSED],
        [FAILED, 'database is locked'],
      ],
    )
    await pass(INTERVAL)
    assert.deepEqual(
      logged().map(({ failed, causes }) => [failed, causes]),
      [[3, { [REFUSED]: 1, 'database is locked': 2 }]],
    )
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
    ready = unready()
    await fail(refused(1))
    await pass(10 * INTERVAL)
    assert.deepEqual(messages(), [[ERROR, FAILED]])
    await fail(refused(2))
    await pass(INTERVAL)
    assert.deepEqual(messages(), [[ERROR, MORE]])
  })
})

describe('the end of an outage', () => {
  it('is logged once nothing fails any more and the store is ready: how long it lasted, how many failed', async () => {
    ready = unready()
    await fail(refused(1))
    await pass(4200)
    await fail(refused(2))
    await pass(3 * INTERVAL)
    assert.deepEqual(messages(), [
      [ERROR, FAILED],
      [ERROR, MORE],
    ])
    ready = Promise.resolve()
    await pass(INTERVAL)
    const [end, ...others] = logged()
    assert.equal(others.length, 0)
    assert.deepEqual([end?.level, end?.msg, end?.total, end?.seconds], [INFO, OVER, 2, 4.2])
    await pass(10 * INTERVAL)
    assert.deepEqual(logged(), [])
  })

  it('has not come while something fails, although the store says that it is ready', async () => {
    for (let i = 0; i < 5; i++) {
      await fail(refused(i))
      await pass(INTERVAL)
    }
    assert.deepEqual(messages(), [[ERROR, FAILED], ...Array(4).fill([ERROR, MORE])])
    await fail(new StoreUnavailable('another cause'))
    await pass(INTERVAL)
    assert.deepEqual(messages(), [[ERROR, FAILED]])
    await pass(INTERVAL)
    assert.deepEqual(messages(), [[INFO, OVER]])
  })

  it('has not come if something fails while the store is asked', async () => {
    await fail(refused(1))
    const { promise, resolve } = Promise.withResolvers<void>()
    ready = promise
    await pass(2 * INTERVAL)
    await fail(refused(2))
    resolve()
    await setImmediate()
    assert.deepEqual(messages(), [[ERROR, FAILED]])
  })

  it('is logged once, however long the store takes to say that it is ready', async () => {
    await fail(refused(1))
    const { promise, resolve } = Promise.withResolvers<void>()
    ready = promise
    for (let i = 0; i < 4; i++) await pass(INTERVAL)
    resolve()
    await setImmediate()
    assert.equal(messages().filter(([, message]) => message === OVER).length, 1)
  })

  it('comes soon after a single failure, and the next one has its line again', async () => {
    for (let i = 0; i < 2; i++) {
      await fail(refused(1))
      await pass(2 * INTERVAL)
      assert.deepEqual(messages(), [
        [ERROR, FAILED],
        [INFO, OVER],
      ])
    }
  })
})

it('a request has no line if it is refused for now, or if its client has gone', async () => {
  await fail(failure.unavailable)
  assert.equal((await app.inject('/books')).statusCode, 500)
  assert.deepEqual(logged(), [])
})

describe('when the service ends', () => {
  it('in an outage, the failures that have no line yet are counted', async () => {
    await fail(refused(1), refused(2), refused(3))
    await pass(INTERVAL)
    await fail(refused(4))
    logged()
    await app.close()
    const [end, ...others] = logged()
    assert.equal(others.length, 0)
    assert.deepEqual([end?.level, end?.msg], [ERROR, MORE])
    assert.deepEqual([end?.failed, end?.causes], [1, { [REFUSED]: 1 }])
  })

  it('without one, there is no line', async () => {
    await app.close()
    assert.deepEqual(logged(), [])
  })
})

describe('what a line says of an error', () => {
  it('that is unexpected: each has its line, with its stack and those of its causes', async () => {
    const unexpected = () => new TypeError('no', { cause: new RangeError('too far') })
    await fail(unexpected(), unexpected())
    const all = logged()
    assert.equal(all.length, 2)
    for (const { level, msg, method, route, err } of all) {
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
    await fail(new StoreUnavailable('database is locked', { cause, reason: 'conflict' }))
    assert.equal(JSON.stringify(logged()).match(/locked/g)?.length, 1)
  })

  it('of the store whose reason is not known: the stack of its cause, and of nothing else', async () => {
    const cause = new TypeError('a defect')
    await fail(new StoreUnavailable('the store does not answer', { cause }))
    const [{ err } = assert.fail('no line')] = logged()
    assert.deepEqual([err?.reason, err?.message], ['other', 'the store does not answer: a defect'])
    assert.match(err?.stack ?? '', /^TypeError: a defect\n +at /)
    assert.doesNotMatch(err?.stack ?? '', /does not answer/)
  })

  it('of the store that has another as its cause: the reason of that one', async () => {
    await fail(new StoreUnavailable('the store does not answer', { cause: refused(1) }))
    const [{ err } = assert.fail('no line')] = logged()
    assert.deepEqual(err, {
      type: 'StoreUnavailable',
      reason: 'connection',
      message: `the store does not answer: ${REFUSED}`,
    })
  })
})
