import assert from 'node:assert/strict'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { logIn } from '../support/client.ts'
import { parseExposition, total } from '../support/exposition.ts'
import { freePort } from '../support/free-port.ts'
import { head, RawConnection, type RawResponse } from '../support/raw-socket.ts'
import { runSpec } from '../support/run-spec.ts'
import {
  ACCOUNT,
  SECRET,
  SETTINGS,
  type Service,
  spawnService,
  startService,
  temporaryDirectory,
} from '../support/service.ts'
import { beginRequest, connectUntilRefused } from '../support/slow-request.ts'
import { until } from '../support/until.ts'

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

const openMany = (url: string) => Promise.all(numbered(CONNECTIONS).map(() => RawConnection.open(url)))

/** How many threads of a service answer requests, by the names that the system tells. */
function countThreads({ process: { pid } }: Service): number {
  return globSync(`/proc/${pid}/task/*/comm`).filter((path) => {
    try {
      return readFileSync(path, 'utf8') === 'http\n'
    } catch {
      // It has ended meanwhile.
      return false
    }
  }).length
}

const directory = temporaryDirectory()
after(directory.remove)

// That each thread shows what any has answered, on every engine: test/http/linearizability.test.ts.
describe('a service with four threads', () => {
  let service: Service
  let authorization: string
  before(async () => {
    const settings = { THREADS: '4', METRICS_PORT: '0', LOGIN_FAILURE_LIMIT: '5', TRUST_PROXY: '1' }
    service = await startService(directory.path, settings, DYING)
    authorization = `Authorization: ${await logIn(service.url)}`
  })
  after(() => service.stop())

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

  const readMetrics = () => fetch(/"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? '')

  it('adds up the metrics of all threads, and has those of the process once', async () => {
    const found = async () => parseExposition(await (await readMetrics()).text())
    const answered = { route: '/healthz', method: 'GET', status: '200' }
    const before = total(await found(), 'http_requests_total', answered)
    assert.deepEqual(statuses(await onEach(service.url, () => head('GET /healthz'))), { 200: CONNECTIONS })
    await create()
    const metrics = await found()
    assert.equal(total(metrics, 'http_requests_total', answered) - before, CONNECTIONS)
    assert.equal(total(metrics, 'build_info'), 1)
    // The writer tells of a commit after its responses.
    await until(
      'the commit is counted',
      async () => total(await found(), 'store_group_commit_writes_count') > 0,
    )
  })

  it('goes on when a thread dies, which costs only its own connections', async () => {
    const connections = await openMany(service.url)
    const ask = async (i: number, ...fields: string[]) => {
      await connections[i]?.send(head('GET /healthz', ...fields))
      return connections[i]?.response().catch(() => undefined)
    }
    const threads: number[] = []
    for (const i of numbered(CONNECTIONS)) threads.push(Number((await ask(i))?.headers.get('x-thread')))
    const first = Math.min(...threads)
    assert.ok(Math.max(...threads) > first)
    assert.equal(countThreads(service), 4)
    await ask(threads.indexOf(first), 'X-Die: 0')
    const death = /"level":50.*the error of the test.*a thread died/
    await until('the death is in the log', () => death.test(service.output()))
    for (const i of numbered(CONNECTIONS))
      assert.equal((await ask(i))?.status, threads[i] === first ? undefined : 200)
    const served = await onEach(service.url, () => withBody('POST /book', BOOK, authorization))
    assert.deepEqual(statuses(served), { 201: CONNECTIONS })
    assert.equal((await readMetrics()).status, 200)
    await until('the thread is replaced', () => countThreads(service) === 4)
  })

  it('counts failed log-ins over all threads', async () => {
    const body = JSON.stringify({ ...ACCOUNT, password: 'wrong' })
    const attempt = () => withBody('POST /token', body, 'X-Forwarded-For: 192.0.2.1')
    assert.deepEqual(statuses(await onEach(service.url, attempt)), { 401: 5, 429: CONNECTIONS - 5 })
    const right = withBody('POST /token', JSON.stringify(ACCOUNT), 'X-Forwarded-For: 192.0.2.1')
    assert.equal((await once(service.url, right)).status, 429)
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

  it('has ended an import before it answers, so that the next one can begin on any thread', async () => {
    const writers = (await openMany(service.url)).slice(0, 8)
    const path = await create()
    let isOver = false
    // Messages of several threads wait for the main thread, which takes them in any order.
    const writing = writers.map(async (writer) => {
      while (!isOver) {
        await writer.send(withBody(`PUT ${path}`, '{"year":1}', authorization))
        await writer.response()
      }
    })
    try {
      // Each on a new connection, which any thread may get.
      for (const _ of numbered(25)) assert.equal((await once(service.url, importing(FILE))).status, 200)
    } finally {
      isOver = true
      await Promise.all(writing)
    }
  })

  for (const [when, isBusy, delay] of [
    ['in the middle of a file', false, '5000'],
    ['before it was given its turn', true, '300'],
  ] as const)
    it(`lets others import when a thread has died ${when}`, async () => {
      if (isBusy) service.process.kill('SIGUSR2')
      using dying = await RawConnection.open(service.url)
      if (isBusy) await dying.send(importing(FILE, `X-Die: ${delay}`))
      else await beginImport(dying, `X-Die: ${delay}`)
      await dying.rest()
      await until('another may begin', async () => (await once(service.url, importing(FILE))).status === 200)
    })
})

it('four threads keep the contract, and the decisions where it is silent', async (t) => {
  const other = await startService(directory.path, { THREADS: '4', DB_URL: 'sqlite:contract.db' })
  t.after(() => other.stop())
  // Without the slow requests: they take half a minute, and do the same with any number of threads.
  await runSpec(other.url, { NODE_OPTIONS: '--test-skip-pattern=408' }, [])
})

it('replaces a thread by one with the same settings and database, and waits longer each time; one that dies while the service stops is not missed', async (t) => {
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
  const diedAt = [500, 1000].map((pause) =>
    Number(new RegExp(`"time":(\\d+),.*"pause":${pause},`).exec(other.output())?.[1]),
  ) as [number, number]
  // The clock of the log and that of the timer may differ by a millisecond.
  assert.ok(diedAt[1] - diedAt[0] >= 499, 'the replacement came after a pause')
  await until('all threads answer', async () => {
    await setTimeout(1500)
    return (await onEach(other.url, () => head('GET /healthz')).catch(ended)) !== undefined
  })
  const created = await once(other.url, withBody('POST /book', BOOK, token))
  const responses = await onEach(other.url, () => head('GET /books', token))
  assert.deepEqual(statuses(responses), { 200: CONNECTIONS })
  for (const { body } of responses) assert.deepEqual(JSON.parse(body).data, [JSON.parse(created.body).data])
  using dying = await RawConnection.open(other.url)
  await dying.send(head('POST /token', 'Content-Length: 9', 'Expect: 100-continue', 'X-Die: 1000'))
  assert.equal((await dying.response()).status, 100)
  assert.deepEqual(await other.stop(), { code: 0, signal: null })
})

it('ends a replacement that cannot listen', async (t) => {
  const REFUSE = join(directory.path, 'refuse')
  const service = await startService(directory.path, { THREADS: '2', REFUSE }, DYING)
  t.after(() => service.stop())
  writeFileSync(REFUSE, '')
  await once(service.url, head('GET /healthz', 'X-Die: 0')).catch(() => undefined)
  await until('two could not listen', () => /(?:no buffer space.*"pause".*){2}/s.test(service.output()))
  // A third may be starting.
  await until('they have ended', () => countThreads(service) <= 2)
})

it('does not listen again while it stops, though a thread is still starting', async () => {
  const HOLD = join(directory.path, 'hold')
  writeFileSync(HOLD, '')
  const PORT = String(await freePort())
  const url = `http://127.0.0.1:${PORT}`
  const settings = { ...SETTINGS, PORT, THREADS: '2', DB_URL: 'sqlite:stopped.db', HOLD }
  const { child, ended } = spawnService(directory.path, settings, DYING)
  const ask = () =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  await until('it listens', ask)
  // Keeps the first thread from ending at once.
  await beginRequest(url, JSON.stringify(ACCOUNT))
  child.kill('SIGTERM')
  await assert.rejects(connectUntilRefused(url))
  rmSync(HOLD)
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver) assert.equal(await ask(), false)
})

it('is one thread, and says so, where the system cannot spread connections', async () => {
  const elsewhere = `data:text/javascript,Object.defineProperty(process, 'platform', { value: 'darwin' })`
  for (const THREADS of ['1', '2']) {
    const service = await startService(directory.path, { THREADS }, ['--import', elsewhere])
    await service.stop()
    const warning = /"level":40.*"THREADS: this system cannot spread connections/
    assert.equal(warning.test(service.output()), THREADS === '2')
  }
})

it('says why it cannot start', async (t) => {
  const begin = (settings: Record<string, string>) =>
    spawnService(
      directory.path,
      { PORT: '0', HOST: '127.0.0.1', THREADS: '2', SECRET_TOKEN: SECRET, ...settings },
      DYING,
    )
  const service = await startService(directory.path, { THREADS: '2' })
  t.after(() => service.stop())
  for (const [settings, reason] of [
    [{ PORT: new URL(service.url).port }, /^Cannot start: PORT: \d+ is in use; [^\n]+\n$/],
    [
      { DIE_AT_START: 'ERR_WORKER_INIT_FAILED' },
      /^Cannot start: THREADS: a thread that answers requests cannot run: the error of the test\n$/m,
    ],
    // Of another kind of error, the stack helps.
    [
      { DIE_AT_START: 'OTHER' },
      /^StoreUnavailable: the http thread died\n +at [\s\S]*the error of the test\n +at /m,
    ],
    [{ DB_URL: 'sqlite:.' }, /^Cannot start: DB_URL: the database file \S+ cannot be opened: [^\n]+\n$/m],
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
