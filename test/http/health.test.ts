import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openFile } from '../store/sqlite/file.ts'
import { logIn } from '../support/client.ts'
import { fill } from '../support/damage.ts'
import { freePort } from '../support/free-port.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import {
  ACCOUNT,
  PATIENT,
  SECRET,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'
import { connectUntilRefused } from '../support/slow-request.ts'
import { expiringAt, NOW } from '../support/tokens.ts'
import { useService } from '../support/use-service.ts'

const ALIVE = '{"status":200,"message":"Alive","data":null}'
const READY = '{"status":200,"message":"Ready","data":null}'
const UNAVAILABLE = '{"status":503,"message":"Service unavailable","data":null}'

async function get(url: string, options: RequestInit = {}) {
  const response = await fetch(url, options)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function assertUnavailable(url: string, options: RequestInit = {}): Promise<void> {
  const response = await get(url, options)
  assert.equal(response.text, UNAVAILABLE, url)
  assert.equal(response.status, 503)
  assert.match(response.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
}

describe('while all is well', () => {
  const service = useService()

  for (const [path, text] of [
    ['/healthz', ALIVE],
    ['/readyz', READY],
  ] as const) {
    it(`GET ${path} is 200 in the envelope, without a token and with a bad one`, async () => {
      for (const headers of [{}, { authorization: 'x' }]) {
        const response = await get(service.url + path, { headers })
        assert.equal(response.text, text)
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
      }
    })

    it(`HEAD ${path} is the same without the body`, async () => {
      const response = await get(service.url + path, { method: 'HEAD' })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-length'), String(text.length))
    })

    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      it(`${method} ${path} is 405 with Allow`, async () => {
        const response = await get(service.url + path, { method })
        assert.equal(response.text, '{"status":405,"message":"Method not allowed","data":null}')
        assert.equal(response.headers.get('allow'), 'GET, HEAD')
      })
    }
  }
})

describe('while the service waits for its database', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  async function start(STORE_TIMEOUT: string) {
    const [port, nobody] = [await freePort(), await freePort()]
    const spawned = spawnService(directory.path, {
      PORT: String(port),
      HOST: '127.0.0.1',
      DB_URL: `postgres://user:hunter2@127.0.0.1:${nobody}/books`,
      STORE_TIMEOUT,
      USERNAME: ACCOUNT.username,
      PASSWORD: ACCOUNT.password,
      SECRET_TOKEN: SECRET,
    })
    const url = `http://127.0.0.1:${port}`
    while (spawned.child.exitCode === null && !(await fetch(url).catch(() => undefined))) await setTimeout(20)
    return { url, ...spawned }
  }

  it('it is alive and not ready, and needs no store to log in', async (t) => {
    const { url, child } = await start('1')
    t.after(() => child.kill())
    assert.equal((await get(`${url}/healthz`)).text, ALIVE)
    const headers = { authorization: await logIn(url) }
    const body = '{"title":"T","author":"A","year":1}'
    await Promise.all([
      assertUnavailable(`${url}/readyz`),
      assertUnavailable(`${url}/books`, { headers }),
      assertUnavailable(`${url}/book/1`, { headers }),
      assertUnavailable(`${url}/book/1`, { method: 'DELETE', headers }),
      assertUnavailable(`${url}/book`, { method: 'POST', headers, body }),
      assertUnavailable(`${url}/book/1`, { method: 'PUT', headers, body }),
    ])
    assert.equal(
      (await get(`${url}/book/1`, { headers: { authorization: expiringAt(NOW - 1e9) } })).status,
      401,
    )
  })

  it('it ends at once on SIGTERM, and answers what waits for the store', async (t) => {
    const { url, child, output, ended } = await start(PATIENT)
    t.after(() => child.kill('SIGKILL'))
    const waiting = assertUnavailable(`${url}/readyz`)
    // The service has received it when it answers the next request.
    await get(`${url}/healthz`)
    child.kill('SIGTERM')
    // If it waited, its connection would be cut.
    await waiting
    assert.deepEqual(await ended, { code: 0, signal: null }, output())
    assert.match(output(), /^DB_URL: waiting up to 30 seconds for [^\n]*ECONNREFUSED[^\n]*$/m)
    assert.doesNotMatch(output(), /hunter2|"msg":"listening"/)
  })
})

describe('while the database cannot be read', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const path = join(directory.path, 'books.db')

  it('the service is alive and not ready, its cause in the log, and ready when it can again', async () => {
    const store = await openFile(path)
    await fill(store)
    // The index is complete then, and the service finds nothing to write.
    await store.count({ year: 1 })
    await store.close()
    const whole = readFileSync(path)
    const running = await startService(directory.path)
    // Before a page of books is in its cache.
    truncateSync(path, 4096)
    await assertUnavailable(`${running.url}/readyz`)
    assert.equal((await get(`${running.url}/healthz`)).text, ALIVE)
    writeFileSync(path, whole)
    // After a change, SQLite forgets the pages that it has read. The service's index may have the lock meanwhile.
    using other = new DatabaseSync(path, { timeout: 60_000 })
    other.exec('UPDATE books SET year = year WHERE id = 1')
    assert.equal((await get(`${running.url}/readyz`)).text, READY)
    assert.match(
      running.output(),
      /"level":50.*"reqId":"[^"]+".*"route":"\/readyz".*"the store is not ready: [^"]+","stack":".*\/src\/store\//,
    )
    await running.stop()
  })
})

describe('while the database cannot be written', {
  skip: process.platform !== 'linux' && 'needs prlimit',
}, () => {
  for (const THREADS of ['1', '2']) {
    it(`the service is not ready, its cause in the log, and ready when it can again; ${THREADS} threads`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const service = await startService(directory.path, { THREADS })
      t.after(() => service.stop())
      const headers = { authorization: await logIn(service.url) }
      const write = () =>
        get(`${service.url}/book`, { method: 'POST', headers, body: '{"title":"T","author":"A","year":1}' })
      /** How long its files may become, in bytes. */
      const limitFiles = (bytes: string) =>
        execFileSync('prlimit', ['--pid', `${service.process.pid}`, `--fsize=${bytes}:unlimited`])
      assert.equal((await write()).status, 201)
      assert.equal((await get(`${service.url}/readyz`)).text, READY)

      limitFiles('4096')
      assert.equal((await write()).text, UNAVAILABLE)
      await assertUnavailable(`${service.url}/readyz`)
      assert.equal((await get(`${service.url}/book/1`, { headers })).status, 200)
      limitFiles('unlimited')
      assert.equal((await get(`${service.url}/readyz`)).text, READY)
      assert.equal((await write()).status, 201)
      await service.stop()
      assert.match(service.output(), /"route":"\/readyz".*"the store is not ready: disk I\/O error"/)
    })
  }

  it('because others hold its lock, the service stays ready', async (t) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const service = await startService(directory.path)
    t.after(() => service.stop())
    const headers = { authorization: await logIn(service.url) }
    using other = new DatabaseSync(join(directory.path, 'books.db'), { timeout: 60_000 })
    other.exec('BEGIN IMMEDIATE')
    await assertUnavailable(`${service.url}/book`, {
      method: 'POST',
      headers,
      body: '{"title":"T","author":"A","year":1}',
    })
    assert.equal((await get(`${service.url}/readyz`)).text, READY)
  })
})

/** The beginning of the head of a request. */
const begun = (path: string) => head(`GET ${path}`).slice(0, 20)

describe('during shutdown', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('the service is alive and not ready, and every response is the last of its connection', async () => {
    const service = await startService(directory.path)
    const paths = ['/healthz', '/readyz', '/nowhere']
    const connections = await Promise.all(paths.map(() => RawConnection.open(service.url)))
    // The service has begun to read a request on each.
    for (const [i, connection] of connections.entries()) await connection.send(begun(`${paths[i]}`))
    await get(`${service.url}/healthz`)
    const ended = service.stop()
    await assert.rejects(connectUntilRefused(service.url))
    const responses = []
    for (const [i, connection] of connections.entries()) {
      await connection.send(head(`GET ${paths[i]}`).slice(begun(`${paths[i]}`).length))
      const response = await connection.response()
      assert.equal(response.headers.get('connection'), 'close')
      assert.equal(await connection.rest(), '')
      responses.push(response)
    }
    assert.deepEqual(
      responses.map(({ body }) => body),
      [ALIVE, UNAVAILABLE, '{"status":404,"message":"Not found","data":null}'],
    )
    assert.match(responses[1]?.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
    assert.deepEqual(await ended, { code: 0, signal: null })
  })
})
