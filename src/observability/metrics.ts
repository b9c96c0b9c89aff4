import { subscribe } from 'node:diagnostics_channel'
import { createServer, type Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import type { Store } from '../catalogue/store.ts'

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** Others, which a client may choose from some thirty at will, share a label. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Operation = 'create' | 'find' | 'page' | 'count' | 'statistics' | 'update' | 'delete' | 'import'

/** What the service tells Prometheus of itself. */
export class Metrics {
  readonly #registry = new Registry()
  /** Answers GET /metrics, not yet listening. */
  readonly server: Server
  readonly #requests: Counter
  readonly #durations: Histogram
  readonly #storeDurations: Histogram

  /** @param engine of the store. */
  constructor(engine: string) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#requests = new Counter({
      name: 'http_requests_total',
      help: 'Answers, by route, method and status',
      labelNames: ['route', 'method', 'status'],
      registers,
    })
    this.#durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['route', 'method'],
      buckets: SECONDS,
      registers,
    })
    this.#storeDurations = new Histogram({
      name: 'store_operation_duration_seconds',
      help: 'Time of an operation of the store, waiting included',
      labelNames: ['operation', 'outcome'],
      buckets: SECONDS,
      registers,
    })
    const groupCommits = new Histogram({
      name: 'store_group_commit_writes',
      help: 'Writes that share a commit (SQLite)',
      buckets: WRITES,
      registers,
    })
    subscribe('book-catalogue.group-commit', (writes) => groupCommits.observe(writes as number))
    new Gauge({
      name: 'build_info',
      help: 'Always 1',
      labelNames: ['version', 'node', 'engine'],
      registers,
    }).set({ version: packageJson.version, node: process.version, engine }, 1)
    this.server = createServer(async (request, response) => {
      const isAsked = request.url === '/metrics' && (request.method === 'GET' || request.method === 'HEAD')
      response.writeHead(isAsked ? 200 : 404, {
        'content-type': isAsked ? this.#registry.contentType : 'text/plain',
      })
      response.end(isAsked ? await this.#registry.metrics() : 'See /metrics\n')
    })
  }

  /** Counts the answers by the pattern of their route, never by the path that was asked for. */
  countAnswers(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url ?? 'none'
      const method = METHODS.includes(request.method) ? request.method : 'other'
      this.#requests.inc({ route, method, status: reply.statusCode })
      this.#durations.observe({ route, method }, reply.elapsedTime / 1000)
      done()
    })
  }

  /** @returns the same store, whose operations are timed and whose load is reported. */
  measure(store: Store): Store {
    new Gauge({
      name: 'store_load',
      help: 'What the store has in use and what waits for it',
      labelNames: ['part'],
      registers: [this.#registry],
      collect() {
        for (const [part, value] of Object.entries(store.load())) this.set({ part }, value)
      },
    })
    const timed = async <Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> => {
      const end = this.#storeDurations.startTimer({ operation })
      try {
        const result = await work()
        end({ outcome: 'done' })
        return result
      } catch (error) {
        end({ outcome: 'failed' })
        throw error
      }
    }
    return {
      create: (book) => timed('create', () => store.create(book)),
      find: (id) => timed('find', () => store.find(id)),
      update: (id, changes, expected) => timed('update', () => store.update(id, changes, expected)),
      delete: (id, expected) => timed('delete', () => store.delete(id, expected)),
      list: (pages) => store.list(pages),
      page: (...query) => timed('page', () => store.page(...query)),
      count: (...query) => timed('count', () => store.count(...query)),
      statistics: (...query) => timed('statistics', () => store.statistics(...query)),
      import: (groups, options) => timed('import', () => store.import(groups, options)),
      load: () => store.load(),
      close: () => store.close(),
    }
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
