import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { BirpcReturn } from 'birpc'
import type { FastifyBaseLogger } from 'fastify'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { ImportTurn } from '../files/import-turn.ts'
import { requireFreePort } from '../http/listen.ts'
import type { LogStream } from '../observability/logging.ts'
import type { Metrics } from '../observability/metrics.ts'
import { deferStore } from '../store/open.ts'
import { AnswerCount } from '../store/sqlite/shared-read.ts'
import { connect } from './channel.ts'
import type { HttpThreadCalls, HttpThreadData, MainCalls } from './http-thread.ts'
import { openConfiguredStore } from './open-store.ts'
import { serveStore } from './remote-store.ts'
import { makeMetrics, type Service } from './service.ts'

/** The time between the death of a thread and its replacement, in milliseconds. */
const REPLACE_PAUSE = 500

/** MiB of V8's young generation in each thread. */
const YOUNG_GENERATION = 8

/** The systems that spread the connections of one port over several threads (nodejs.org/api/net.html, reusePort). */
const SPREADING = ['linux', 'freebsd', 'aix', 'sunos']

export const canSpreadConnections = SPREADING.includes(process.platform)

/** What the main thread keeps for all threads. */
interface Shared {
  readonly loginLimit: LoginLimit
  readonly log: FastifyBaseLogger
  /** Takes the log lines of the threads. */
  readonly lines: LogStream
}

type HttpThread = BirpcReturn<HttpThreadCalls, MainCalls>

/**
 * Answers requests on several threads, which all listen on the same port. For an SQLite file, the main thread does what
 * only one may do; on a database server, each thread has its own connections. A thread that dies is replaced.
 */
export class ThreadPool implements Service {
  readonly #config: Config
  readonly #environment: NodeJS.Dict<string>
  readonly #shared: Shared
  readonly #metrics: Metrics | undefined
  readonly #answers = new AnswerCount()
  readonly #workers = new Set<Worker>()
  /** Those that can be called. The others are starting. */
  readonly #threads = new Map<HttpThread, Worker>()
  readonly #opening = Promise.withResolvers<Store>()
  /** The store of an SQLite file. */
  readonly #store: Store
  /** Belongs to the thread whose import is running. */
  readonly #importTurn = new ImportTurn()
  #port = 0
  #state: 'starting' | 'open' | 'stopping' = 'starting'

  private constructor(
    config: Config,
    environment: NodeJS.Dict<string>,
    shared: Shared,
    metrics: Metrics | undefined,
  ) {
    this.#config = config
    this.#environment = environment
    this.#shared = shared
    this.#metrics = metrics
    this.#store = deferStore(this.#opening.promise, config.storeTimeout)
  }

  /** @param environment has the settings, with those that were made up for this run. */
  static async create(config: Config, environment: NodeJS.Dict<string>, shared: Shared): Promise<ThreadPool> {
    return new ThreadPool(config, environment, shared, await makeMetrics(config))
  }

  async listen(): Promise<string> {
    const { host, port } = this.#config
    const first = await this.#start()
    // Another service on the same port would otherwise get a part of the connections. This comes after the start of the
    // thread, which takes long enough for another service to do the same.
    await requireFreePort({ host, port, setting: 'PORT' })
    const url = await first.listen(port)
    // The URL leaves out port 80.
    this.#port = port || Number(new URL(url).port)
    return url
  }

  async open(): Promise<void> {
    if (this.#config.dbUrl.engine === 'sqlite') {
      this.#opening.resolve(await openConfiguredStore(this.#config, this.#answers))
      this.#metrics?.reportLoad(this.#store)
    }
    // The first thread prepares a database for the others.
    const [first] = this.#threads.keys()
    await first?.open()
    const { threads } = this.#config
    await Promise.all(Array.from({ length: threads - 1 }, () => this.#add()))
    if (this.#threads.size < threads) throw new Error('a thread died while the others started')
    this.#refuseIfStopping()
    this.#state = 'open'
  }

  async stop(): Promise<void> {
    this.#state = 'stopping'
    // A thread that dies meanwhile has no requests in flight any more.
    await Promise.allSettled(Array.from(this.#threads.keys(), (thread) => thread.stop()))
    await Promise.all(Array.from(this.#workers, (worker) => worker.terminate()))
    await this.#store.close()
  }

  async metrics(): Promise<string> {
    const { sumOfMetrics } = await import('../observability/metrics.ts')
    const own = (await this.#metrics?.values()) ?? []
    const threads = await Promise.all(Array.from(this.#threads.keys(), (thread) => thread.metrics()))
    return await sumOfMetrics(own, threads)
  }

  async #add(): Promise<void> {
    const thread = await this.#start()
    try {
      await thread.open()
      this.#refuseIfStopping()
      await thread.listen(this.#port)
    } catch (error) {
      await this.#threads.get(thread)?.terminate()
      throw error
    }
  }

  /** @returns a thread that can be called. @throws the error that ended it while it started. */
  async #start(): Promise<HttpThread> {
    this.#refuseIfStopping()
    const worker = new Worker(new URL('./http-thread.ts', import.meta.url), {
      env: this.#environment,
      workerData: { answers: this.#answers.memory } satisfies HttpThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    const ready = Promise.withResolvers<void>()
    const calls = this.#callsOf(() => thread, ready.resolve)
    const thread: HttpThread = connect<HttpThreadCalls, MainCalls>(worker, calls)
    this.#workers.add(worker)
    let cause: unknown
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      const error = new Error('a thread that answers requests died', { cause })
      this.#workers.delete(worker)
      this.#threads.delete(thread)
      calls.endImport()
      thread.$close(error)
      ready.reject(error)
      if (this.#state === 'open') void this.#replace(error)
    })
    await ready.promise
    this.#threads.set(thread, worker)
    return thread
  }

  /** A replacement that dies as well is replaced in its turn. */
  async #replace(death: Error): Promise<void> {
    const { log } = this.#shared
    log.error({ err: death }, 'a thread died with its connections, and is replaced')
    await sleep(REPLACE_PAUSE)
    if (this.#state !== 'open') return
    await this.#add().catch((err: unknown) => {
      if (this.#state === 'open') log.error({ err }, 'a new thread cannot answer requests')
    })
  }

  /** A thread that began to listen now would not be stopped any more. */
  #refuseIfStopping(): void {
    if (this.#state === 'stopping') throw new Error('the service is stopping')
  }

  /** What a thread may call. */
  #callsOf(thread: () => HttpThread, ready: () => void): MainCalls {
    const { loginLimit, lines } = this.#shared
    return {
      ...serveStore(this.#store, (call) => thread().nextGroup(call)),
      ready,
      wait: (address) => loginLimit.wait(address),
      attempt: (...login) => loginLimit.attempt(...login),
      // The calls of a thread that has died may come after its end.
      beginImport: () => this.#threads.has(thread()) && this.#importTurn.begin(thread()),
      endImport: () => this.#importTurn.end(thread()),
      log: (line) => lines.write(line),
    }
  }
}
