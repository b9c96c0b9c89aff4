import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { Gauge, Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { listen } from '../../src/http/listen.ts'
import { metricsServer, sumOfMetrics } from '../../src/observability/metrics.ts'
import { parseExposition, type Sample, total } from '../support/exposition.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { useService } from '../support/use-service.ts'

const BOOK = '{"title":"T","author":"A","year":1}'

/** The routes there are, and what stands for every other path. */
const ROUTES = /^(\/token|\/books?|\/book\/:id|\/healthz|\/readyz|\/openapi\.json|\/docs.*|\*|none)$/

const service = useService(undefined, { METRICS_PORT: '0' })
const metricsUrl = () => /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? ''

async function samples(): Promise<Sample[]> {
  const response = await fetch(metricsUrl())
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4; charset=utf-8$/)
  return parseExposition(await response.text())
}

async function call(line: string, body?: string): Promise<number> {
  const [method = '', path] = line.split(' ')
  const headers = { authorization: service.token }
  const response = await fetch(service.url + path, { method, headers, ...(body !== undefined && { body }) })
  await response.arrayBuffer()
  return response.status
}

/** How much a metric rises while `work` is done. */
async function riseOf(work: () => Promise<unknown>) {
  const earlier = await samples()
  await work()
  const later = await samples()
  return (name: string, labels: Record<string, string> = {}) =>
    total(later, name, labels) - total(earlier, name, labels)
}

describe('the metrics', () => {
  it('count the responses by route, method and status, and time them', async () => {
    const calls = [
      ['POST', '/book', '/book', 201, BOOK],
      ['POST', '/book', '/book', 400, '{'],
      ['GET', '/book/1', '/book/:id', 200],
      ['GET', '/book/999', '/book/:id', 404],
      ['PUT', '/book/1', '/book/:id', 200, '{"year":2}'],
      ['GET', '/books', '/books', 200],
      ['GET', '/nowhere', 'none', 404],
    ] as const
    const begin = performance.now()
    const rise = await riseOf(async () => {
      for (const [method, path, , status, body] of calls)
        assert.equal(await call(`${method} ${path}`, body), status, path)
    })
    const seconds = (performance.now() - begin) / 1000
    for (const [method, , route, status] of calls) {
      assert.equal(rise('http_requests_total', { method, route, status: String(status) }), 1, route)
      const count = calls.filter((other) => other[0] === method && other[2] === route).length
      assert.equal(rise('http_request_duration_seconds_count', { method, route }), count, route)
      const sum = rise('http_request_duration_seconds_sum', { method, route })
      assert.ok(sum > 0 && sum < seconds, `${route}: ${sum} of ${seconds} seconds`)
    }
    assert.equal(rise('http_requests_total'), calls.length)
  })

  it('time the operations of the store, and say what it has in use and how large its commits are', async () => {
    const written = async () => total(await samples(), 'store_group_commit_writes_sum')
    const before = await written()
    const rise = await riseOf(async () => {
      for (let i = 0; i < 2; i++) await call('POST /book', BOOK)
      await call('GET /book/2')
      await call('PUT /book/2', '{"year":3}')
      for (let i = 0; i < 2; i++) await call('DELETE /book/2')
      // The writer tells of a commit after its responses.
      while ((await written()) < before + 5);
    })
    for (const [operation, count] of Object.entries({ create: 2, find: 1, update: 1, delete: 2 }))
      assert.equal(rise('store_operation_duration_seconds_count', { operation, outcome: 'done' }), count)
    assert.equal(rise('store_group_commit_writes_sum'), 5)
    assert.ok(rise('store_group_commit_writes_count') <= 5)
    const load = (await samples()).flatMap(({ name, labels }) => (name === 'store_load' ? labels.part : []))
    assert.deepEqual(load, ['writes_waiting', 'queries_waiting'])
  })

  it('have the buckets that dashboards are made for', async () => {
    const now = await samples()
    const seconds = '0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 +Inf'
    for (const [metric, bounds] of [
      ['http_request_duration_seconds', seconds],
      ['store_operation_duration_seconds', seconds],
      ['store_group_commit_writes', '1 2 4 8 16 32 64 128 256 512 1024 +Inf'],
    ] as const) {
      const found = now.flatMap(({ name, labels }) => (name === `${metric}_bucket` ? labels.le : []))
      assert.equal([...new Set(found)].join(' '), bounds)
    }
  })

  it('tell how often an operation of the store has failed, and why, each reason from the beginning', async () => {
    const failures = async () => {
      const all = (await samples()).filter(({ name }) => name === 'store_failures_total')
      return Object.fromEntries(all.map(({ labels, value }) => [labels.reason, value]))
    }
    const reasons = 'overload timeout connection conflict read_only disk temporary_disk other'.split(' ')
    const none = Object.fromEntries(reasons.map((reason) => [reason, 0]))
    assert.deepEqual(await failures(), none)
    using database = new DatabaseSync(join(service.directory, 'books.db'), { timeout: 60_000 })
    const rise = await riseOf(async () => {
      database.exec('ALTER TABLE books RENAME TO elsewhere')
      assert.equal(await call('GET /book/1'), 500)
      database.exec('ALTER TABLE elsewhere RENAME TO books')
      assert.equal(await call('GET /book/1'), 200)
      database.exec('BEGIN IMMEDIATE')
      assert.equal(await call('POST /book', BOOK), 503)
      database.exec('ROLLBACK')
    })
    for (const operation of ['find', 'create'])
      assert.equal(rise('store_operation_duration_seconds_count', { operation, outcome: 'failed' }), 1)
    assert.deepEqual(await failures(), { ...none, conflict: 1 })
  })

  it('tell of the process: the delay of its event loop, its memory and files, and what it is', async () => {
    const now = await samples()
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes'])
      assert.ok(total(now, name) > 0, name)
    const info = now.find(({ name }) => name === 'build_info')
    const labels = { version: packageJson.version, node: process.version, engine: 'sqlite' }
    assert.deepEqual(info, { name: 'build_info', labels, value: 1 })
  })

  it('have no more series for paths, ids and methods that a client makes up', async () => {
    /** What a client may make up, in its n-th attempt. */
    const attempt = async (n: number) => {
      using connection = await RawConnection.open(service.url)
      for (const method of METHODS.filter((method) => method !== 'CONNECT' && method !== 'HEAD'))
        for (const path of [`/book/${n}`, `/nowhere/${n}`, `/book/${n}/x`, `/docs/${n}`, `/${n}%22%7D`]) {
          const fields = [`Authorization: ${service.token}`, 'Content-Length: 0']
          await connection.send(head(`${method} ${path}`, ...fields))
          await connection.response()
        }
    }
    const ofRoutes = async () => (await samples()).filter(({ labels }) => labels.route !== undefined)
    await attempt(0)
    const first = await ofRoutes()
    await attempt(1)
    const last = await ofRoutes()
    assert.equal(last.length, first.length)
    assert.ok(last.every(({ labels }) => ROUTES.test(labels.route ?? '')))
    const methods = new Set(last.map(({ labels }) => labels.method))
    assert.ok(methods.has('other') && methods.size <= 8)
  })

  it('are not on the port of the service, nor anything else on theirs', async () => {
    assert.equal(await call('GET /metrics'), 404)
    const root = metricsUrl().replace('/metrics', '')
    for (const path of ['/', '/books', '/healthz', '/metrics/x', '/metrics?x'])
      assert.equal((await fetch(root + path)).status, 404, path)
    assert.equal((await fetch(metricsUrl(), { method: 'POST' })).status, 404)
    assert.equal((await fetch(metricsUrl(), { method: 'HEAD' })).status, 200)
  })

  it('have the longest delay of all threads, and what only the main one knows', async () => {
    const of = (value: number) => {
      const registry = new Registry()
      for (const [name, aggregator] of [
        ['delay', 'average'],
        ['start', 'omit'],
        ['used', 'sum'],
        ['process_files', 'sum'],
      ] as const)
        new Gauge({ name, help: 'of the test', aggregator, registers: [registry] }).set(value)
      return registry.getMetricsAsJSON()
    }
    const found = parseExposition(await sumOfMetrics([await of(2), await of(5), await of(3)]))
    assert.deepEqual(
      found.map(({ name, value }) => [name, value]),
      [
        ['delay', 5],
        ['start', 2],
        ['used', 10],
        ['process_files', 2],
      ],
    )
  })

  it('do not keep the process from ending', async () => {
    using idle = await RawConnection.open(metricsUrl())
    using begun = await RawConnection.open(metricsUrl())
    await begun.send('GET /metr')
    await samples()
    await service.end()
    assert.doesNotMatch(service.output(), /without waiting/)
    assert.equal(await idle.rest(), '')
  })
})

it('are 503 while a thread that dies has none', async (t) => {
  const server = metricsServer(() => Promise.reject(new Error('it died')))
  t.after(() => server.close())
  const url = await listen(server, { host: '127.0.0.1', port: 0, setting: 'METRICS_PORT' })
  assert.equal((await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).status, 503)
})
