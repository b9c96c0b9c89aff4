import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Config } from '../config.ts'
import { describeError, OperatorError } from '../errors.ts'
import { requireFreePort } from '../http/listen.ts'
import { ImportTurn } from '../http/services.ts'
import type { LogStream } from '../observability/logging.ts'
import { prepareSqlite } from '../store/sqlite/store.ts'
import { ResponseCount, type SqliteThreads } from '../store/sqlite/threads.ts'
import { Thread } from '../threads/thread.ts'
import type { HttpThreadData, SupervisorFunctions } from './http-thread.ts'
import { makeMetrics, type Service, storeOptions } from './service.ts'

/** The shortest and the longest time between the death of a thread and its replacement, in milliseconds. */
const MIN_PAUSE = 500
const MAX_PAUSE = 30_000

/** The pause doubles as long as replacements die sooner than this, in milliseconds. */
const SHORT_LIFE = 60_000

/** MiB of V8's young generation in each thread. */
const YOUNG_GENERATION = 8

/** The systems that spread the connections of one port over several threads (nodejs.org/api/net.html, reusePort). */
const SPREADING = ['linux', 'freebsd', 'aix', 'sunos']

export const canSpreadConnections = SPREADING.includes(process.platform)

type HttpThread = Thread<Service>

/**
 * Starts the threads that answer requests, all on the same port, and replaces each that dies. With a database server,
 * each thread has its own connections. With SQLite, they share the threads of the file.
 * @param lines takes the log lines of the threads.
 */
export function supervise(
  config: Config,
  loginLimit: LoginLimit,
  log: FastifyBaseLogger,
  lines: LogStream,
): Service {
  const making = makeMetrics(config)
  const responses = new ResponseCount()
  /** All threads, also those that are still starting. */
  const all = new Set<HttpThread>()
  /** The threads that can be called. */
  const callable = new Set<HttpThread>()
  let sqlite: SqliteThreads | undefined
  /** Belongs to the thread whose import is running. */
  const importTurn = new ImportTurn()
  const stopping = new AbortController()
  let port = 0

  async function add(): Promise<HttpThread> {
    const thread = await start()
    try {
      await thread.call('open')
      refuseIfStopping()
      await thread.call('listen', port)
      return thread
    } catch (error) {
      await thread.terminate()
      throw error
    }
  }

  /** @returns a thread that can be called. @throws the error that ended it while it started. */
  async function start(): Promise<HttpThread> {
    const ready = Promise.withResolvers<void>()
    const data: HttpThreadData = { config, responses: responses.memory }
    const functions: SupervisorFunctions = {
      started: ready.resolve,
      wait: (address) => loginLimit.wait(address),
      attempt: (...login) => loginLimit.attempt(...login),
      // A call may arrive after the death of its thread, which would then never give the turn back.
      beginImport: () => callable.has(thread) && importTurn.begin(thread),
      endImport: () => importTurn.end(thread),
      log: (line) => lines.write(line),
      connect: async (kind) => {
        if (sqlite === undefined) throw new Error('there is no SQLite file')
        return sqlite.connect(kind)
      },
    }
    const thread: HttpThread = new Thread('http', 'service/http-thread', data, YOUNG_GENERATION, functions)
    all.add(thread)
    void thread.death.then((error) => {
      all.delete(thread)
      callable.delete(thread)
      importTurn.end(thread)
      ready.reject(error)
    })
    try {
      await ready.promise
    } catch (error) {
      throw asOperatorError(error as Error)
    }
    callable.add(thread)
    return thread
  }

  /** Replaces the thread when it dies, and then each replacement. */
  async function replace(thread: HttpThread): Promise<void> {
    const { signal } = stopping
    let next = Promise.resolve(thread)
    for (let pause = 0; ; ) {
      const startedAt = Date.now()
      const err = await next.then(
        ({ death }) => death,
        (error: unknown) => error,
      )
      if (signal.aborted) return
      pause = pauseAfter(Date.now() - startedAt, pause)
      log.error({ err, pause }, 'a thread died with its connections, and is replaced')
      try {
        await sleep(pause, undefined, { signal })
      } catch {
        // The service stops.
        return
      }
      next = add()
    }
  }

  /** A thread that does not listen yet has stopped at once, and must not begin to while others finish their requests. */
  function refuseIfStopping(): void {
    if (stopping.signal.aborted) throw new Error('the service is stopping')
  }

  return {
    async listen() {
      const first = await start()
      // Threads share the port, so another service that uses it would get part of the connections. The check comes after
      // the thread has started, because that takes long enough for another service to make the same check.
      port = await requireFreePort({ host: config.host, port: config.port, setting: 'PORT' })
      return first.call('listen', port)
    },

    async open() {
      const { dbUrl, threads } = config
      if (dbUrl.engine === 'sqlite') sqlite = prepareSqlite(dbUrl.path, storeOptions(config).report)
      const [first] = callable
      if (first === undefined) throw new Error('a thread that answers requests died while it started')
      // The first thread prepares the database for the others.
      await first.call('open')
      const others = await Promise.all(Array.from({ length: threads - 1 }, add))
      refuseIfStopping()
      for (const thread of [first, ...others]) void replace(thread)
    },

    async stop() {
      stopping.abort()
      // A thread that dies now has no requests in flight any more.
      await Promise.allSettled(Array.from(callable, (thread) => thread.call('stop')))
      await Promise.all(Array.from(all, (thread) => thread.terminate()))
      await sqlite?.close()
      ;(await making)?.close()
    },

    async metrics() {
      const own = (await (await making)?.values()) ?? []
      const threads = await Promise.all(Array.from(callable, (thread) => thread.call('metrics')))
      return [own, ...threads.flat()]
    },
  }
}

/** The pause before a thread is replaced. All values are in milliseconds. @param last 0 before the first death. */
export function pauseAfter(lifetime: number, last: number): number {
  return last === 0 || lifetime > SHORT_LIFE ? MIN_PAUSE : Math.min(2 * last, MAX_PAUSE)
}

/** The system or a memory limit may prevent a thread from running. A stack does not help then. */
function asOperatorError(error: Error): Error {
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException
  return code?.startsWith('ERR_WORKER_')
    ? new OperatorError(`THREADS: a thread that answers requests cannot run: ${describeError(error.cause)}`)
    : error
}
