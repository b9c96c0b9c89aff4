import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { Auth } from '../auth/auth.ts'
import type { LoginLimit } from '../auth/login-throttle.ts'
import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { drainable } from '../http/graceful-shutdown.ts'
import { listen } from '../http/listen.ts'
import { Cursors } from '../http/page-cursor.ts'
import { createServer } from '../http/server.ts'
import type { ImportTurns, OpeningStore } from '../http/services.ts'
import type { Metrics, MetricValues } from '../observability/metrics.ts'
import { withTimeout } from '../store/timeout.ts'
import { makeMetrics, type Service } from './service.ts'

export interface SharedLimits {
  readonly loginLimit: LoginLimit
  readonly importTurns: ImportTurns
}

/** Answers requests on one thread. */
export class HttpService implements Service {
  readonly #app: FastifyInstance
  readonly #config: Config
  readonly #metrics: Metrics | undefined
  readonly #books: DeferredStore
  readonly #openStore: () => Promise<Store>
  readonly #drain: () => Promise<void>
  #store: Store | undefined

  private constructor(
    app: FastifyInstance,
    config: Config,
    metrics: Metrics | undefined,
    books: DeferredStore,
    openStore: () => Promise<Store>,
  ) {
    this.#app = app
    this.#config = config
    this.#metrics = metrics
    this.#books = books
    this.#openStore = openStore
    this.#drain = drainable(app.server)
  }

  /** @param openStore is called once. */
  static async create(
    config: Config,
    limits: SharedLimits,
    log: FastifyBaseLogger,
    openStore: () => Promise<Store>,
  ): Promise<HttpService> {
    const metrics = await makeMetrics(config)
    const { secretToken, storeTimeout, importLimit } = config
    const books = new DeferredStore(storeTimeout)
    const app = createServer(
      {
        books,
        auth: new Auth(config, secretToken),
        cursors: new Cursors(secretToken),
        importLimit,
        ...limits,
      },
      config,
      log,
      metrics,
    )
    await app.ready()
    return new HttpService(app, config, metrics, books, openStore)
  }

  async listen(port = this.#config.port): Promise<string> {
    const { host, threads } = this.#config
    const { server, log } = this.#app
    const url = await listen(server, { host, port, setting: 'PORT', isShared: threads > 1 })
    server.on('error', (err) => log.error({ err }, 'the server failed'))
    return url
  }

  async open(): Promise<void> {
    try {
      this.#store = await this.#openStore()
    } catch (cause) {
      this.#books.refuse('the store cannot be opened', cause)
      throw cause
    }
    this.#books.open(this.#metrics?.measure(this.#store) ?? this.#store)
  }

  async stop(): Promise<void> {
    // Requests that wait for the store must not delay the stop.
    this.#books.refuse('the service is stopping')
    await this.#drain()
    await this.#app.close()
    await this.#store?.close()
  }

  async metrics(): Promise<string> {
    return (await this.#metrics?.text()) ?? ''
  }

  async metricValues(): Promise<MetricValues> {
    return (await this.#metrics?.values()) ?? []
  }
}

/** The store of a service that listens before the store is open. */
export class DeferredStore implements OpeningStore {
  readonly #timeout: number
  readonly #opening = Promise.withResolvers<Store>()
  #store: Store | undefined

  /** @param timeout how long a request may wait for the store, in milliseconds. */
  constructor(timeout: number) {
    this.#timeout = timeout
    // Waiting requests report a rejection. One that nobody waits for would end the process if it were not handled here.
    this.#opening.promise.catch(() => {})
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('the store is not open')
    return this.#store
  }

  opened(): Promise<Store> | undefined {
    if (this.#store !== undefined) return undefined
    return withTimeout(this.#opening.promise, this.#timeout, 'the store is being opened')
  }

  open(store: Store): void {
    this.#store = store
    this.#opening.resolve(store)
  }

  /** Fails all requests that wait for the store now or later. Has no effect once it is open. */
  refuse(message: string, cause?: unknown): void {
    this.#opening.reject(new StoreUnavailable(message, { cause, nothingWritten: true }))
  }
}
