import { subscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  exponentialBuckets,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { type Store, StoreUnavailable, UNAVAILABLE_REASONS } from '../catalogue/store.ts'

/** Bounds of the buckets of durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
/** Bounds of the buckets of batches, in requests. */
const BATCH_SIZES = exponentialBuckets(1, 2, 11)

/** Left out: gauges that only sum others over their labels, and have names that end like those of counters. */
const REMOVED_GAUGES = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Metrics that have the same value on every thread. */
const PROCESS_METRICS = /^(?:process_|build_info$)/

/** All other methods share one label value, because a client can choose from some thirty. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The metrics of a thread, for Prometheus. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #registers = [this.#registry]
  readonly #requests = new Counter({
    name: 'http_requests_total',
    help: 'Responses, by route, method and status',
    labelNames: ['route', 'method', 'status'],
    registers: this.#registers,
  })
  readonly #durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response',
    labelNames: ['route', 'method'],
    buckets: SECONDS,
    registers: this.#registers,
  })
  readonly #storeDurations = new Histogram({
    name: 'store_operation_duration_seconds',
    help: 'Time of an operation of the store, waiting included',
    labelNames: ['operation', 'outcome'],
    buckets: SECONDS,
    registers: this.#registers,
  })
  readonly #storeFailures = new Counter({
    name: 'store_failures_total',
    help: 'Operations that the store could not do now, by reason',
    labelNames: ['reason'],
    registers: this.#registers,
  })

  constructor(engine: string) {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of REMOVED_GAUGES) this.#registry.removeSingleMetric(name)
    // A series that exists from the beginning shows the first failure as an increase.
    for (const reason of UNAVAILABLE_REASONS) this.#storeFailures.inc({ reason }, 0)
    this.#countBatches('group-commit', 'store_group_commit_writes', 'Writes that share a commit')
    this.#countBatches(
      'batched-reads',
      'store_batch_reads',
      'Reads of single books that share a statement (servers)',
    )
    new Gauge({
      name: 'build_info',
      help: 'Always 1',
      labelNames: ['version', 'node', 'engine'],
      registers: this.#registers,
    }).set({ version: packageJson.version, node: process.version, engine }, 1)
  }

  /** The observer of garbage collections outlives the service, and would keep all metrics, and the store with them. */
  close(): void {
    this.#registry.clear()
  }

  /** @returns the metrics for `sumOfMetrics`. */
  values(): Promise<MetricValues> {
    return this.#registry.getMetricsAsJSON()
  }

  /** Counts responses by the pattern of their route, never by the requested path. */
  countResponses(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url ?? 'none'
      const method = METHODS.includes(request.method) ? request.method : 'other'
      this.#requests.inc({ route, method, status: reply.statusCode })
      this.#durations.observe({ route, method }, reply.elapsedTime / 1000)
      done()
    })
  }

  /** @returns the store, with its operations timed, its failures counted and its load reported. */
  measure(store: Store): Store {
    new Gauge({
      name: 'store_load',
      help: 'What the store has in use and what waits for it',
      labelNames: ['part'],
      registers: this.#registers,
      collect() {
        for (const [part, value] of Object.entries(store.load())) this.set({ part }, value)
      },
    })
    return new Proxy(store, {
      get: (_, name: keyof Store) => {
        const member: unknown = store[name]
        return typeof member === 'function' ? this.#measured(name, member.bind(store)) : member
      },
    })
  }

  #measured(operation: string, method: (...args: never[]) => unknown) {
    return async (...args: never[]) => {
      const end = this.#storeDurations.startTimer({ operation })
      try {
        const result = await method(...args)
        end({ outcome: 'done' })
        return result
      } catch (error) {
        end({ outcome: 'failed' })
        if (error instanceof StoreUnavailable) this.#storeFailures.inc({ reason: error.reason })
        throw error
      }
    }
  }

  /** Observes the sizes of batches, which the store publishes on a diagnostics channel. */
  #countBatches(name: string, metric: string, help: string): void {
    const sizes = new Histogram({ name: metric, help, buckets: BATCH_SIZES, registers: this.#registers })
    subscribe(`book-catalogue.${name}`, (size) => sizes.observe(size as number))
  }
}

/** @returns a server for GET /metrics that does not listen yet. */
export function metricsServer(text: () => Promise<string>): Server {
  return process.getBuiltinModule('node:http').createServer(async (request, response) => {
    const isForMetrics = request.url === '/metrics' && (request.method === 'GET' || request.method === 'HEAD')
    if (!isForMetrics) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('See /metrics\n')
      return
    }
    try {
      const body = await text()
      response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(body)
    } catch {
      // A thread has died in the meantime.
      response.writeHead(503).end()
    }
  })
}

/**
 * @param main is the main thread, from which alone the metrics of the process are taken.
 * @returns the sums of the metrics of all threads in Prometheus' text format.
 */
export function sumOfMetrics([main = [], ...threads]: readonly MetricValues[]): Promise<string> {
  const all = [main, ...threads.map((values) => values.filter(({ name }) => !PROCESS_METRICS.test(name)))]
  const summed = all.map((values) =>
    values.map((metric) => ({ ...metric, aggregator: aggregatorOf(metric) })),
  )
  return AggregatorRegistry.aggregate(summed).metrics()
}

/** prom-client would leave out the start time of the process, and average the delays, which hides one late thread. */
function aggregatorOf({ aggregator }: { readonly aggregator: string }): string {
  if (aggregator === 'omit') return 'first'
  return aggregator === 'average' ? 'max' : aggregator
}
