import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { stopListening } from '../../src/http/listen.ts'
import { logIn } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { SETTINGS, spawnService, startService, temporaryDirectory } from '../support/service.ts'
import { expiringAt } from '../support/tokens.ts'
import { serve } from './serve.ts'

const ALIVE = '{"status":200,"message":"Alive","data":null}'
const READY = '{"status":200,"message":"Ready","data":null}'
const UNAVAILABLE = '{"status":503,"message":"Service unavailable","data":null}'

const textOf = async (url: string, init: RequestInit = {}) => (await fetch(url, init)).text()

it('GET and HEAD of /healthz and /readyz are 200 in the envelope, without a token and with a bad one', async (t) => {
  const { app } = await serve(t)
  for (const [url, text] of Object.entries({ '/healthz': ALIVE, '/readyz': READY }))
    for (const headers of [{}, { authorization: 'x' }])
      for (const [method, body] of Object.entries({ GET: text, HEAD: '' })) {
        const { statusCode, payload } = await app.inject({ method: method as 'GET', url, headers })
        assert.deepEqual([statusCode, payload], [200, body])
      }
})

it('requests at the same time share one check of the store, and each later one makes another', async (t) => {
  let asked = 0
  const answer = Promise.withResolvers<void>()
  // The first check fails when it is told to.
  const ready = async () => void (++asked === 1 && (await answer.promise))
  const { app, lines } = await serve(t, { replaced: () => ({ ready }) })
  const ask = async () => (await app.inject('/readyz')).payload
  const failing = Promise.all([ask(), ask(), ask()])
  assert.equal((await app.inject('/healthz')).payload, ALIVE)
  answer.reject(new TypeError('malformed'))
  assert.deepEqual([await failing, asked], [Array(3).fill(UNAVAILABLE), 1])
  assert.deepEqual([await ask(), await ask(), asked], [READY, READY, 3])
  const { route, err } = lines().find(({ level }) => level === 50)
  assert.deepEqual([route, err.message], ['/readyz', 'the store is not ready: malformed'])
  assert.match(err.stack, /^TypeError: malformed\n +at .*health\.test/)
})

it('during shutdown the service is alive and not ready, and every response is the last of its connection', async (t) => {
  const { app, url } = await serve(t)
  const responses = [
    ['/healthz', ALIVE],
    ['/readyz', UNAVAILABLE],
    ['/nowhere', '{"status":404,"message":"Not found","data":null}'],
    // Its body is no text for Fastify.
    ['/', '<!doctype html>'],
  ] as const
  const connections = await Promise.all(responses.map(() => RawConnection.open(url)))
  // A server that answers a later connection has accepted these.
  await textOf(`${url}/healthz`, { headers: { connection: 'close' } })
  const ended = stopListening(app.server)
  for (const [i, [path, start]] of responses.entries()) {
    using connection = connections[i] as RawConnection
    await connection.send(head(`GET ${path}`))
    const { body, headers } = await connection.response()
    assert.deepEqual([body.slice(0, start.length), headers.get('connection')], [start, 'close'])
    assert.equal(await connection.rest(), '')
  }
  await ended
})

it('while the service waits for its database, it is alive, logs in, and ends at once on SIGTERM', async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const [port, nobody] = [await freePort(), await freePort()]
  const { child, output, ended } = spawnService(directory.path, {
    ...SETTINGS,
    PORT: String(port),
    DB_URL: `postgres://user:hunter2@127.0.0.1:${nobody}/books`,
    STORE_TIMEOUT: '60',
  })
  t.after(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  while (child.exitCode === null && !(await fetch(url).catch(() => undefined)));
  const headers = { authorization: await logIn(url) }
  const expired = await fetch(`${url}/book/1`, { headers: { authorization: expiringAt(1e9) } })
  assert.equal(expired.status, 401)
  const waiting = [textOf(`${url}/readyz`), textOf(`${url}/book/1`, { headers })]
  // The service has received them when it answers the next request.
  assert.equal(await textOf(`${url}/healthz`), ALIVE)
  child.kill('SIGTERM')
  // If it waited, its connections would be cut.
  assert.deepEqual(await Promise.all(waiting), [UNAVAILABLE, UNAVAILABLE])
  assert.deepEqual(await ended, { code: 0, signal: null }, output())
  assert.match(output(), /^DB_URL: waiting up to 30 seconds for [^\n]*ECONNREFUSED[^\n]*$/m)
  assert.doesNotMatch(output(), /hunter2|"msg":"listening"/)
})

it('while the database cannot be written, the service is not ready, reads go on, and it is ready when it can again', {
  skip: process.platform !== 'linux' && 'needs prlimit',
}, async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  // What a thread writes of its coverage would be cut, too.
  const service = await startService(directory.path, { THREADS: '2', NODE_V8_COVERAGE: undefined })
  t.after(() => service.stop())
  const headers = { authorization: await logIn(service.url) }
  const write = async () => {
    const body = '{"title":"T","author":"A","year":1}'
    const response = await fetch(`${service.url}/book`, { method: 'POST', headers, body })
    return [response.status, response.headers.get('x-stored')]
  }
  /** How long its files may become, in bytes. */
  const limitFiles = (bytes: string) =>
    execFileSync('prlimit', ['--pid', `${service.process.pid}`, `--fsize=${bytes}:unlimited`])
  assert.deepEqual(await write(), [201, null])
  assert.equal(await textOf(`${service.url}/readyz`), READY)
  limitFiles('4096')
  // After an I/O error, the commit may be on the disk all the same.
  assert.deepEqual(await write(), [503, 'unknown'])
  assert.equal(await textOf(`${service.url}/readyz`), UNAVAILABLE)
  assert.equal((await fetch(`${service.url}/book/1`, { headers })).status, 200)
  limitFiles('unlimited')
  assert.equal(await textOf(`${service.url}/readyz`), READY)
  limitFiles('4096')
  assert.deepEqual(await write(), [503, 'unknown'])
  limitFiles('unlimited')
  assert.deepEqual(await write(), [201, null])
  // Since a write has succeeded, none is needed to find out.
  limitFiles('4096')
  assert.equal(await textOf(`${service.url}/readyz`), READY)
  using database = new DatabaseSync(join(directory.path, 'books.db'), { timeout: 60_000 })
  database.exec('ALTER TABLE books RENAME TO elsewhere')
  assert.equal(await textOf(`${service.url}/readyz`), UNAVAILABLE, 'it cannot be read')
  await service.stop()
  assert.match(service.output(), /"route":"\/readyz".*"the store is not ready: disk I\/O error"/)
})
