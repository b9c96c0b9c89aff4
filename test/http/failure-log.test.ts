import assert from 'node:assert/strict'
import { afterEach, beforeEach, it, mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { failure } from '../../src/http/envelope.ts'
import { handleErrors } from '../../src/http/error-handler.ts'
import { FailureLog } from '../../src/http/failure-log.ts'
import { serializeError } from '../../src/observability/logging.ts'

/** How often failures are summed up, in milliseconds. */
const INTERVAL = 10_000

const FAILED = 'a request failed because the store is unavailable'
const MORE = 'more requests failed because the store is unavailable'
const OVER = 'the store is available again'
const REFUSED = 'the database server failed: connect ECONNREFUSED 127.0.0.1:1'

/** An error of the store whose message differs from others of the same cause in a number. */
const refused = (port: number) =>
  new StoreUnavailable('the database server failed', {
    cause: new Error(`connect ECONNREFUSED 127.0.0.1:${port}`),
    reason: 'connection',
  })
const locked = () => new StoreUnavailable('database is locked', { reason: 'conflict' })

let app: FastifyInstance
let lines: ({ readonly msg: string; readonly err?: { readonly stack?: string } } & Record<string, unknown>)[]
/** What the store says when it is asked whether it is ready. */
let ready: () => Promise<void>
/** What the next request throws. */
let error: Error | undefined

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
  app.get('/abandoned', ({ raw, signal }) => {
    raw.emit('close')
    throw error ?? signal.reason
  })
})
afterEach(async () => {
  await app.close()
  mock.timers.reset()
})

async function fail(...errors: Error[]): Promise<void> {
  for (error of errors) await app.inject('/book/17?password=hunter2')
}

async function pass(time: number): Promise<void> {
  mock.timers.tick(time)
  // The store is asked then.
  await setImmediate()
}

/** The lines since the last call, without what every line has. */
const logged = () => lines.splice(0).map(({ level, time, pid, hostname, reqId, ...line }) => line)
const messages = () => logged().map(({ msg }) => msg)

const sum = (causes: Record<string, number>) => {
  const failed = Object.values(causes).reduce((total, count) => total + count)
  return { failed, causes, msg: MORE }
}

it('of failures of the store, each of ten causes has one line when it is new, and its repeats are counted every ten seconds', async () => {
  await fail(refused(1), locked(), refused(2), locked(), locked())
  const line = { method: 'GET', route: '/book/:id', msg: FAILED }
  assert.deepEqual(logged(), [
    { ...line, err: { type: 'StoreUnavailable', reason: 'connection', message: REFUSED } },
    { ...line, err: { type: 'StoreUnavailable', reason: 'conflict', message: 'database is locked' } },
  ])
  await pass(INTERVAL - 1)
  assert.deepEqual(logged(), [])
  await pass(1)
  assert.equal(lines[0]?.level, 50)
  assert.deepEqual(logged(), [sum({ [REFUSED]: 1, 'database is locked': 2 })])
  await fail(...Array.from({ length: 10 }, (_, i) => new StoreUnavailable(`cause ${'x'.repeat(i)}`)))
  assert.equal(logged().length, 8)
  await fail(refused(4))
  await pass(INTERVAL)
  assert.deepEqual(logged(), [sum({ 'other causes': 2, [REFUSED]: 1 })])
})

it('the end of an outage is logged once nothing fails any more and the store is ready: how long it lasted, how many failed', async () => {
  ready = () => Promise.reject(refused(0))
  await fail(refused(1))
  await pass(4200)
  await fail(refused(2))
  // Without requests there are no lines, and it goes on.
  await pass(13 * INTERVAL)
  assert.deepEqual(messages(), [FAILED, MORE])
  ready = async () => {}
  await fail(refused(3))
  await pass(INTERVAL)
  assert.deepEqual(messages(), [MORE], 'as long as something fails, it has not ended')
  await pass(INTERVAL)
  assert.equal(lines[0]?.level, 30)
  assert.deepEqual(logged(), [{ total: 3, seconds: 134.2, msg: OVER }])
  // The next failure has its line again, and its end comes soon.
  await fail(refused(1))
  await pass(INTERVAL)
  assert.deepEqual(messages(), [FAILED], 'the timer of the last outage has ended')
  await pass(INTERVAL)
  assert.deepEqual(messages(), [OVER])
})

for (const [what, failsMeanwhile, expected] of [
  ['has not ended if something fails while the store is asked', true, [FAILED]],
  ['ends with one line, however long the store takes to say that it is ready', false, [FAILED, OVER]],
] as const)
  it(`an outage ${what}`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    ready = () => promise
    await fail(refused(1))
    for (let i = 0; i < 4; i++) await pass(INTERVAL)
    if (failsMeanwhile) await fail(refused(2))
    resolve()
    await setImmediate()
    assert.deepEqual(messages(), expected)
  })

it('a request has no line if it is refused for now, or if it only fails because its client has gone', async () => {
  await fail(failure.unavailable)
  error = undefined
  assert.equal((await app.inject('/abandoned')).statusCode, 500)
  assert.deepEqual(logged(), [])
  error = new TypeError('a defect')
  await app.inject('/abandoned')
  assert.deepEqual(messages(), ['Internal server error'])
})

it('when the service ends, the failures that have no line yet are counted', async () => {
  await fail(refused(1), refused(2))
  logged()
  await app.close()
  assert.deepEqual(logged(), [sum({ [REFUSED]: 1 })])
})

it('an unexpected error has a line each time, with its code, its stack and those of its causes; one of the store has the stack of a cause that is not known', async () => {
  const defect = Object.assign(new TypeError('no', { cause: new RangeError('too far') }), { code: 'E1' })
  await fail(defect, defect, new StoreUnavailable('no answer', { cause: new TypeError('a defect') }))
  const all = logged()
  assert.deepEqual(
    all.map(({ msg }) => msg),
    ['Internal server error', 'Internal server error', FAILED],
  )
  const [{ stack = '', ...err } = {}, , { stack: known = '', ...unknown } = {}] = all.map((line) => line.err)
  assert.deepEqual(err, { type: 'TypeError', message: 'no: too far', code: 'E1' })
  assert.match(stack, /^TypeError: no\n +at .*failure-log.*\ncaused by: RangeError: too far\n +at /s)
  assert.deepEqual(unknown, { type: 'StoreUnavailable', reason: 'other', message: 'no answer: a defect' })
  assert.match(known, /^TypeError: a defect\n +at (?!.*no answer)/s)
})

it('the line of an error has no more than the beginning of its statement, which may have the texts of many books', () => {
  const error = Object.assign(new Error('refused'), { sql: `INSERT ${'x'.repeat(100_000)}` })
  const { sql, message } = serializeError(error)
  assert.match(String(sql), /^INSERT x{1,2000}$/)
  assert.equal(message, 'refused')
})
