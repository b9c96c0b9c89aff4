import assert from 'node:assert/strict'
import { once as event } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { until } from '../faults/engine-servers.ts'
import { logIn } from '../support/client.ts'
import { ENGINES, type Engine, engineMissing, useDatabases } from '../support/engines.ts'
import { parseExposition, total } from '../support/exposition.ts'
import { head, RawConnection, type RawResponse } from '../support/raw-socket.ts'
import {
  ACCOUNT,
  SECRET,
  type Service,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'

/** Enough that the system very likely gives every thread some of them. */
const CONNECTIONS = 32

const BOOK = JSON.stringify({ title: 'T', author: 'A', year: 1 })

/** A file for an import, and how it ends. */
const [FILE, END] = ['title,author,year\nx,y,1\n', ',1\n']

/** Loaded into the threads of a service, so that a request can end one. */
const DYING = ['--import', resolve(import.meta.dirname, 'dying-thread.ts')]

const numbered = (count: number) => Array.from({ length: count }, (_, i) => i)

/** Sends a request on each of many connections, all at the same time. */
function onEach(url: string, request: (i: number) => string): Promise<RawResponse[]> {
  return Promise.all(numbered(CONNECTIONS).map((i) => once(url, request(i))))
}

async function once(url: string, request: string): Promise<RawResponse> {
  using connection = await RawConnection.open(url)
  await connection.send(request)
  return await connection.response()
}

function withBody(line: string, body: string, ...fields: string[]): string {
  return head(line, `Content-Length: ${Buffer.byteLength(body)}`, ...fields) + body
}

/** How many responses have each status. */
const statuses = (responses: readonly RawResponse[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Connections that are closed with the scope. */
async function openMany(url: string) {
  const connections = await Promise.all(numbered(CONNECTIONS).map(() => RawConnection.open(url)))
  const close = () => connections.map((connection) => connection[Symbol.dispose]())
  return { connections, [Symbol.dispose]: () => void close() }
}

for (const engine of ENGINES) {
  describe(`a service with four threads on ${engine}`, { skip: engineMissing(engine) }, () =>
    sharesPromises(engine),
  )
}

/** What holds for all threads together. */
function sharesPromises(engine: Engine): void {
  const directory = temporaryDirectory()
  const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
  let DB_URL = 'sqlite:books.db'
  let service: Service
  let authorization: string

  before(async () => {
    if (databases !== undefined) DB_URL = await (await databases()).createDatabase()
    const settings = { DB_URL, THREADS: '4', METRICS_PORT: '0', LOGIN_FAILURE_LIMIT: '5', TRUST_PROXY: '1' }
    service = await startService(directory.path, { ...settings, LOG_LEVEL: 'debug' }, DYING)
    authorization = `Authorization: ${await logIn(service.url)}`
  })
  after(async () => {
    await service.stop()
    if (databases !== undefined) await (await databases()).dropDatabase(DB_URL)
    directory.remove()
  })

  const importing = (file: string, ...fields: string[]) =>
    withBody('POST /books/import', file, authorization, 'Content-Type: text/csv', ...fields)

  /** Sends all of a file but its end. @returns when its import has begun. */
  async function beginImport(connection: RawConnection, ...fields: string[]): Promise<void> {
    await connection.send(importing(FILE, 'Expect: 100-continue', ...fields).slice(0, -END.length))
    assert.equal((await connection.response()).status, 100)
  }

  /** Creates a book. @returns its path. */
  async function create(): Promise<string> {
    const response = await once(service.url, withBody('POST /book', BOOK, authorization))
    return `/book/${JSON.parse(response.body).data.id}`
  }

  // That each thread shows what any has answered: test/http/linearizability.test.ts.
  it('adds up the metrics of all threads, and has those of the process once', async () => {
    const url = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''
    const found = async () => parseExposition(await (await fetch(url)).text())
    const answered = { route: '/healthz', method: 'GET', status: '200' }
    const before = total(await found(), 'http_requests_total', answered)
    assert.deepEqual(statuses(await onEach(service.url, () => head('GET /healthz'))), { 200: CONNECTIONS })
    await create()
    const metrics = await found()
    assert.equal(total(metrics, 'http_requests_total', answered) - before, CONNECTIONS)
    assert.equal(total(metrics, 'build_info'), 1)
    assert.ok(total(metrics, 'store_group_commit_writes_count') > 0)
    const started = total(metrics, 'process_start_time_seconds')
    assert.ok(Math.abs(Date.now() / 1000 - started) < 600, String(started))
  })

  it('goes on when a thread dies, which costs only its own connections', async () => {
    using opened = await openMany(service.url)
    const others: { connection: RawConnection; thread: string | undefined }[] = []
    for (const connection of opened.connections) {
      await connection.send(head('GET /healthz'))
      others.push({ connection, thread: (await connection.response()).headers.get('x-thread') })
    }
    assert.ok(new Set(others.map(({ thread }) => thread)).size > 1)
    const dying = others.shift()
    const deaths = service.output().split('a thread died').length
    await dying?.connection.send(head('GET /healthz', 'X-Die: 0'))
    await until(
      'the death is in the log',
      async () => service.output().split('a thread died').length > deaths,
    )
    assert.match(service.output(), /"level":50.*the error of the test.*a thread died/)
    for (const { connection, thread } of others) {
      await connection.send(head('GET /healthz'))
      const response = await connection.response().catch(() => undefined)
      assert.equal(response?.status, thread === dying?.thread ? undefined : 200)
    }
    const served = await onEach(service.url, () => withBody('POST /book', BOOK, authorization))
    assert.deepEqual(statuses(served), { 201: CONNECTIONS })
  })

  it('lets others import when a thread has died in the middle of a file', async () => {
    using lost = await RawConnection.open(service.url)
    await beginImport(lost, 'X-Die: 5000')
    await lost.rest()
    const mayImport = async () => (await once(service.url, importing(FILE))).status === 200
    await until('another import may begin', mayImport)
  })

  // What follows is the same on every engine.
  if (engine !== 'sqlite') return

  it('counts failed log-ins over all threads', async () => {
    const body = JSON.stringify({ ...ACCOUNT, password: 'wrong' })
    const attempt = () => withBody('POST /token', body, 'X-Forwarded-For: 192.0.2.1')
    assert.deepEqual(statuses(await onEach(service.url, attempt)), { 401: 5, 429: CONNECTIONS - 5 })
    const right = withBody('POST /token', JSON.stringify(ACCOUNT), 'X-Forwarded-For: 192.0.2.1')
    assert.equal((await once(service.url, right)).status, 429)
  })

  it('ignores an unknown field of a book, however deeply it is nested', async () => {
    const nested = (fields: string) => `{${fields}"x":${'['.repeat(16_000)}${']'.repeat(16_000)}}`
    const create = withBody('POST /book', nested('"title":"T","author":"A","year":1,'), authorization)
    const created = await once(service.url, create)
    assert.equal(created.status, 201)
    const update = withBody(`PUT /book/${JSON.parse(created.body).data.id}`, nested(''), authorization)
    assert.equal((await once(service.url, update)).status, 200)
  })

  it('imports one file at a time', async () => {
    using slow = await RawConnection.open(service.url)
    await beginImport(slow)
    assert.deepEqual(statuses(await onEach(service.url, () => importing(FILE))), { 503: CONNECTIONS })
    await slow.send(END)
    assert.equal((await slow.response()).status, 200)
    const responses = await onEach(service.url, () => importing(FILE))
    assert.ok((statuses(responses)[200] ?? 0) > 0)
  })

  it('writes whole log lines', async () => {
    await Promise.all(numbered(10).map(() => onEach(service.url, () => head('GET /healthz'))))
    // The end of the last one may be to come.
    for (const line of service.output().split('\n').slice(0, -1)) JSON.parse(line)
  })
}

describe('a service with threads', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('replaces a thread by one with the same settings and database, and waits longer each time', async (t) => {
    const DB_URL_FILE = 'database'
    const path = join(directory.path, DB_URL_FILE)
    writeFileSync(path, 'sqlite:same.db')
    const settings = { THREADS: '2', DB_URL: undefined, DB_URL_FILE }
    const other = await startService(directory.path, settings, DYING)
    t.after(() => other.stop())
    const token = `Authorization: ${await logIn(other.url)}`
    writeFileSync(path, 'sqlite:books.db')
    const ended = () => undefined
    await until('a thread that died twice is replaced', async () => {
      await once(other.url, head('GET /healthz', 'X-Die: 0')).catch(ended)
      return /"pause":500.*"pause":1000,/s.test(other.output())
    })
    await until('all threads answer', async () => {
      await setTimeout(1500)
      return (await onEach(other.url, () => head('GET /healthz')).catch(ended)) !== undefined
    })
    const created = await once(other.url, withBody('POST /book', BOOK, token))
    const responses = await onEach(other.url, () => head('GET /books', token))
    assert.deepEqual(statuses(responses), { 200: CONNECTIONS })
    for (const { body } of responses) assert.deepEqual(JSON.parse(body).data, [JSON.parse(created.body).data])
  })

  it('answers what is in flight on every thread when it is stopped', async (t) => {
    const other = await startService(directory.path, { THREADS: '4', DB_URL: 'sqlite:other.db' })
    t.after(() => other.stop('SIGKILL'))
    const token = `Authorization: ${await logIn(other.url)}`
    const request = withBody('POST /book', BOOK, token, 'Expect: 100-continue')
    using opened = await openMany(other.url)
    const { connections } = opened
    await Promise.all(connections.map((connection) => connection.send(request.slice(0, -1))))
    for (const connection of connections) assert.equal((await connection.response()).status, 100)
    const ended = other.stop()
    await setTimeout(200)
    await Promise.all(connections.map((connection) => connection.send(request.slice(-1))))
    const responses = await Promise.all(connections.map((connection) => connection.response()))
    assert.deepEqual(statuses(responses), { 201: CONNECTIONS })
    assert.deepEqual(await ended, { code: 0, signal: null })
  })

  it('says why it cannot start', async (t) => {
    const other = createServer().listen(0, '127.0.0.1')
    t.after(() => other.close())
    await event(other, 'listening')
    const PORT = String((other.address() as AddressInfo).port)
    const begin = (settings: Record<string, string>) =>
      spawnService(
        directory.path,
        { PORT: '0', HOST: '127.0.0.1', THREADS: '2', SECRET_TOKEN: SECRET, ...settings },
        DYING,
      )
    for (const [settings, reason] of [
      [{ PORT }, /^Cannot start: PORT: \d+ is in use; [^\n]+\n$/m],
      [
        { DIE_AT_START: 'ERR_WORKER_INIT_FAILED' },
        /^Cannot start: THREADS: a thread that answers requests cannot run: the error of the test\n$/m,
      ],
      [{ DB_URL: 'sqlite:.' }, /^Cannot start: DB_URL: the database file \. cannot be opened: [^\n]+\n$/m],
    ] as const) {
      const { ended, output } = begin(settings)
      assert.deepEqual(await ended, { code: 1, signal: null })
      assert.match(output(), reason)
    }
    const { child, ended, output } = begin({ DB_URL: 'postgres://x:y@127.0.0.1:1/z' })
    await until('it waits for the server', async () => output().includes('DB_URL: '))
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 0, signal: null }, output())
  })
})
