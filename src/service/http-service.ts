import type { FastifyBaseLogger } from 'fastify'
import { Auth } from '../auth/auth.ts'
import type { LoginLimit } from '../auth/login-throttle.ts'
import { type Store, StoreUnavailable } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { drainable } from '../http/graceful-shutdown.ts'
import { listen } from '../http/listen.ts'
import { Cursors } from '../http/page-cursor.ts'
import { createServer } from '../http/server.ts'
import type { ImportTurns, OpeningStore } from '../http/services.ts'
import { withTimeout } from '../store/timeout.ts'
import { makeMetrics, type Service } from './service.ts'

interface SharedLimits {
  readonly loginLimit: LoginLimit
  readonly importTurns: ImportTurns
}

/**
 * Answers requests on one thread.
 * @param openStore is called once.
 */
export async function createHttpService(
  config: Config,
  limits: SharedLimits,
  log: FastifyBaseLogger,
  openStore: () => Promise<Store>,
): Promise<Service> {
  const metrics = await makeMetrics(config)
  const { secretToken, storeTimeout, importLimit, host, threads } = config
  const books = new DeferredStore(storeTimeout)
  const auth = new Auth(config, secretToken)
  const cursors = new Cursors(secretToken)
  const app = createServer({ books, auth, cursors, importLimit, ...limits }, config, log, metrics)
  await app.ready()
  const drain = drainable(app.server)
  let store: Store | undefined

  return {
    async listen(port = config.port) {
      const url = await listen(app.server, { host, port, setting: 'PORT', isShared: threads > 1 })
      app.server.on('error', (err) => log.error({ err }, 'the server failed'))
      return url
    },

    async open() {
      try {
        store = await openStore()
      } catch (cause) {
        books.refuse('the store cannot be opened', cause)
        throw cause
      }
      books.open(metrics?.measure(store) ?? store)
    },

    async stop() {
      // Requests that wait for the store must not delay the stop.
      books.refuse('the service is stopping')
      await drain()
      await app.close()
      await store?.close()
      metrics?.close()
    },

    metrics: async () => (metrics === undefined ? [] : [await metrics.values()]),
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
