import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
import type { Server } from 'node:net'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { queryObjects } from 'node:v8'
import { requireFreePort } from '../src/http/listen.ts'
import { ConfigError, createService, OperatorError, type Settings } from '../src/index.ts'
import { Metrics } from '../src/observability/metrics.ts'
import { call } from './spec/client.ts'
import { logIn } from './support/client.ts'
import { freePort } from './support/free-port.ts'
import { ACCOUNT, PATIENT, SECRET, temporaryDirectory } from './support/service.ts'
import { beginRequest, connectUntilRefused } from './support/slow-request.ts'
import { until } from './support/until.ts'

// A fault, if settings were read from the environment.
process.env.METRICS_PORT = 'none'

describe('createService', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const settings = (file: string): Settings => ({
    PORT: 0,
    HOST: '127.0.0.1',
    DB_URL: `sqlite:${join(directory.path, file)}`,
    USERNAME: ACCOUNT.username,
    PASSWORD: ACCOUNT.password,
    SECRET_TOKEN: SECRET,
    LOG_LEVEL: 'silent',
    STORE_TIMEOUT: PATIENT,
  })

  it('throws one error for all faults of the settings', () => {
    const wrong = { PORT: 65536, THREADS: '0', TRUST_PROXY: true, CORS_ORIGIN: undefined, HOST: '' }
    assert.throws(
      () => createService(wrong),
      (error) => error instanceof ConfigError && /^PORT .*\nHOST .*\nTHREADS .*$/.test(error.message),
    )
  })

  it('answers from start to stop, several of them in one process, whatever their threads', async () => {
    const services = [1, 2, 2].map((THREADS, index) =>
      createService({ ...settings(`${index}.db`), THREADS, METRICS_PORT: 0 }),
    )
    for (const service of services) assert.throws(() => service.url, /has not started/)
    await Promise.all(services.map((service) => service.start()))
    const urls = services.map(({ url }) => url)
    /** Where others start in the same process, a service may be late, and then refuses requests for a moment. */
    const ask = (...request: Parameters<typeof call>) =>
      until('the service is in time', async () => {
        const reply = await call(...request)
        return reply.status !== 503 && reply
      })
    for (const [index, url] of urls.entries()) {
      const target = { name: url, url, ...ACCOUNT }
      const token = await logIn(url)
      const json = { title: `of ${index}`, author: 'A', year: 1 }
      assert.equal((await ask(target, 'POST', '/book', { token, json })).status, 201)
      const { data } = (await ask(target, 'GET', '/books', { token })).body
      assert.deepEqual(data, [{ id: 1, ...json }])
    }
    await Promise.all(services.map((service) => service.stop()))
    for (const url of urls) await assert.rejects(fetch(url))
  })

  it('does not remain in the memory of a program that starts it again and again', async () => {
    for (const THREADS of [1, 2, 1, 2]) {
      const service = createService({ ...settings('again.db'), THREADS, METRICS_PORT: 0 })
      await service.start()
      await service.stop()
    }
    // Node may still refer to the last ones.
    const remaining = queryObjects(Metrics, { format: 'count' })
    assert.ok(remaining < 4, `${remaining}`)
  })

  it('works in a program that is not a file, and keeps to its store when that changes its directory', async () => {
    const moved = { ...settings(''), DB_URL: 'sqlite:moved.db', THREADS: 2 }
    const program = `
      import { createService } from '${import.meta.resolve('../src/index.ts')}'
      const service = createService(${JSON.stringify(moved)})
      process.chdir('..')
      await service.start()
      await service.stop()`
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: directory.path,
    })
    assert.ok(readdirSync(directory.path).includes('moved.db'))
    assert.ok(!readdirSync(dirname(directory.path)).includes('moved.db'))
  })

  it('goes on when a connection cannot be accepted', async (t) => {
    const servers: Server[] = []
    const add = (message: unknown) => servers.push((message as { server: Server }).server)
    subscribe('tracing:net.server.listen:asyncStart', add)
    t.after(() => unsubscribe('tracing:net.server.listen:asyncStart', add))
    const service = createService({ ...settings('accept.db'), METRICS_PORT: 0 })
    await service.start()
    assert.equal(servers.length, 2)
    for (const server of servers) server.emit('error', new Error('accept ENOBUFS'))
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    await service.stop()
  })

  it('has stopped when stop has ended, even while it starts', async () => {
    const service = createService(settings('early.db'))
    const started = service.start()
    await Promise.all([started, service.stop()])
    const files = readdirSync(directory.path).filter((name) => name.startsWith('early'))
    assert.deepEqual(files, ['early.db'], 'the database is closed')
    await assert.rejects(fetch(service.url))
    await assert.rejects(service.start(), /started before/)
  })

  it('says what is wrong when it cannot start; and stops although a client never finishes its request', async () => {
    const service = createService(settings('slow.db'))
    await service.start()
    const port = await freePort()
    const request = await beginRequest(service.url, JSON.stringify(ACCOUNT))
    for (const [wrong, message] of [
      [{ PORT: new URL(service.url).port }, /^PORT: \d+ is in use/],
      [{ PORT: port, DB_URL: 'sqlite:/dev/null/x.db' }, /^DB_URL: /],
    ] as const) {
      const other = createService({ ...settings('other.db'), ...wrong })
      const isRight = (error: Error) => error instanceof OperatorError && message.test(error.message)
      await assert.rejects(other.start(), isRight)
      // By then, it does not listen any more.
      await requireFreePort({ host: '127.0.0.1', port, setting: 'PORT' })
      await other.stop()
    }
    const ended: string[] = []
    const first = service.stop().then(() => ended.push('first'))
    await assert.rejects(connectUntilRefused(service.url))
    await Promise.all([first, service.stop().then(() => ended.push('second'))])
    assert.deepEqual(ended, ['first', 'second'], 'the second waits for the same')
    assert.equal(await request.response(), '', 'it was cut, not refused later')
  })
})
