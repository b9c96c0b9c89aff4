import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { BirpcReturn } from 'birpc'
import type { FastifyBaseLogger } from 'fastify'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { describeError, OperatorError } from '../errors.ts'
import { ImportTurn } from '../files/import-turn.ts'
import { requireFreePort } from '../http/listen.ts'
import type { LogStream } from '../observability/logging.ts'
import type { Metrics } from '../observability/metrics.ts'
import { resources } from '../resources.ts'
import { deferStore } from '../store/open.ts'
import { AnswerCount } from '../store/sqlite/shared-read.ts'
import { connect } from './channel.ts'
import type { HttpThreadCalls, HttpThreadData, MainCalls } from './http-thread.ts'
import { openConfiguredStore } from './open-store.ts'
import { serveStore } from './remote-store.ts'
import { makeMetrics, type Service } from './service.ts'

/** The shortest and the longest time between the death of a thread and its replacement, in milliseconds. */
const MIN_PAUSE = 500
const MAX_PAUSE = 30_000

/** A thread that dies sooner is replaced after twice the time of the last pause, in milliseconds. */
const SHORT_LIFE = 60_000

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

interface HttpThread {
  readonly calls: BirpcReturn<HttpThreadCalls, MainCalls>
  readonly worker: Worker
  /** Is fulfilled with the reason when the thread has ended. */
  readonly death: Promise<Error>
}

/**
 * Answers requests on several threads, which all listen on the same port. For an SQLite file, the main thread does what
 * only one may do; on a database server, each thread has its own connections. A thread that dies is replaced.
 */
export class ThreadPool implements Service {
  readonly #config: Config
  readonly #shared: Shared
  readonly #metrics: Metrics | undefined
  readonly #answers = new AnswerCount()
  readonly #workers = new Set<Worker>()
  /** Those that can be called. The others are starting. */
  readonly #threads = new Set<HttpThread>()
  readonly #opening = Promise.withResolvers<Store>()
  /** The store of an SQLite file. */
  readonly #store: Store
  /** Belongs to the thread whose import is running. */
  readonly #importTurn = new ImportTurn()
  readonly #stopping = new AbortController()
  #port = 0

  private constructor(config: Config, shared: Shared, metrics: Metrics | undefined) {
    this.#config = config
    this.#shared = shared
    this.#metrics = metrics
    this.#store = deferStore(this.#opening.promise, config.storeTimeout)
  }

  static async create(config: Config, shared: Shared): Promise<ThreadPool> {
    return new ThreadPool(config, shared, await makeMetrics(config))
  }

  async listen(): Promise<string> {
    const { host, port } = this.#config
    const first = await this.#start()
    // Another service on the same port would otherwise get a part of the connections. This comes after the start of the
    // thread, which takes long enough for another service to do the same.
    this.#port = await requireFreePort({ host, port, setting: 'PORT' })
    return first.calls.listen(this.#port)
  }

  async open(): Promise<void> {
    if (this.#config.dbUrl.engine === 'sqlite') {
      this.#opening.resolve(await openConfiguredStore(this.#config, this.#answers))
      this.#metrics?.reportLoad(this.#store)
    }
    const [first] = this.#threads
    if (first === undefined) throw new Error('a thread that answers requests died while it started')
    // The first thread prepares a database for the others.
    await first.calls.open()
    const others = Array.from({ length: this.#config.threads - 1 }, () => this.#add())
    const all = [first, ...(await Promise.all(others))]
    this.#refuseIfStopping()
    for (const thread of all) void this.#supervise(thread)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    // A thread that dies meanwhile has no requests in flight any more.
    await Promise.allSettled(Array.from(this.#threads, ({ calls }) => calls.stop()))
    await Promise.all(Array.from(this.#workers, (worker) => worker.terminate()))
    await this.#store.close()
  }

  async metrics(): Promise<string> {
    const { sumOfMetrics } = await import('../observability/metrics.ts')
    const own = (await this.#metrics?.values()) ?? []
    const threads = await Promise.all(Array.from(this.#threads, ({ calls }) => calls.metrics()))
    return await sumOfMetrics(own, threads)
  }

  async #add(): Promise<HttpThread> {
    const thread = await this.#start()
    const { calls, worker } = thread
    try {
      await calls.open()
      this.#refuseIfStopping()
      await calls.listen(this.#port)
      return thread
    } catch (error) {
      await worker.terminate()
      throw error
    }
  }

  /** @returns a thread that can be called. @throws the error that ended it while it started. */
  async #start(): Promise<HttpThread> {
    this.#refuseIfStopping()
    const worker = new Worker(resources.thread('threads/http-thread'), {
      workerData: { config: this.#config, answers: this.#answers.memory } satisfies HttpThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    const { loginLimit, lines } = this.#shared
    const ready = Promise.withResolvers<void>()
    const death = Promise.withResolvers<Error>()
    const store = serveStore(this.#store, (call) => thread.calls.nextGroup(call))
    const calls = connect<HttpThreadCalls, MainCalls>(worker, {
      ...store.calls,
      started: ready.resolve,
      wait: (address) => loginLimit.wait(address),
      attempt: (...login) => loginLimit.attempt(...login),
      // The calls of a thread that has died may come after its end.
      beginImport: () => this.#threads.has(thread) && this.#importTurn.begin(thread),
      endImport: () => this.#importTurn.end(thread),
      log: (line) => lines.write(line),
    })
    const thread: HttpThread = { calls, worker, death: death.promise }
    this.#workers.add(worker)
    let cause: unknown
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      const error = deathOf(cause)
      this.#workers.delete(worker)
      this.#threads.delete(thread)
      calls.$close(error)
      void store.cancelAll().then(() => this.#importTurn.end(thread))
      ready.reject(error)
      death.resolve(error)
    })
    await ready.promise
    this.#threads.add(thread)
    return thread
  }

  /** Replaces a thread when it dies, and every replacement too. */
  async #supervise(thread: HttpThread): Promise<void> {
    const { signal } = this.#stopping
    let next = Promise.resolve(thread)
    for (let pause = MIN_PAUSE; ; ) {
      const begun = Date.now()
      const err = await next.then(
        ({ death }) => death,
        (error: unknown) => error,
      )
      if (signal.aborted) return
      if (Date.now() - begun > SHORT_LIFE) pause = MIN_PAUSE
      this.#shared.log.error({ err, pause }, 'a thread died with its connections, and is replaced')
      // The pause ends when the service stops, and then no thread is added.
      await sleep(pause, undefined, { signal }).catch(() => {})
      pause = Math.min(2 * pause, MAX_PAUSE)
      next = this.#add()
    }
  }

  /** A thread that began to listen now would not be stopped any more. */
  #refuseIfStopping(): void {
    if (this.#stopping.signal.aborted) throw new Error('the service is stopping')
  }
}

/** The error of a thread that has ended. */
function deathOf(cause: unknown): Error {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  // The system or the limits of memory did not let it run: no stack helps.
  if (code?.startsWith('ERR_WORKER_'))
    return new OperatorError(`THREADS: a thread that answers requests cannot run: ${describeError(cause)}`)
  return new Error('a thread that answers requests died', { cause })
}
