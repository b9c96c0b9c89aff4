import type { FastifyBaseLogger } from 'fastify'
import { LoginThrottle } from '../auth/login-throttle.ts'
import { shellQuoted } from '../catalogue/quoted.ts'
import { StoreNotOpened } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { OperatorError } from '../errors.ts'
import { listen, stopListening } from '../http/listen.ts'
import { ImportTurn } from '../http/services.ts'
import { createLogger, type LogStream, logStream, output } from '../observability/logging.ts'
import { describeDbUrl } from '../store/db-url.ts'
import { openStore } from '../store/open.ts'
import { lockForService, type ServiceLock } from '../store/sqlite/service-lock.ts'
import { type Service, storeOptions } from './service.ts'

interface PreparedService {
  readonly log: FastifyBaseLogger
  /** @returns its URL. @throws OperatorError if it cannot listen, or cannot open its store. */
  start(): Promise<string>
  /** May be called several times. */
  stop(): Promise<void>
}

/** The service does not listen yet. The caller has to stop it, on a signal or otherwise. */
export async function prepareService(config: Config): Promise<PreparedService> {
  const lines = await logStream()
  const log = createLogger(config.logLevel, lines)
  const service = await makeService(config, log, lines)
  const stopMetrics = new AbortController()
  let stopping: Promise<void> | undefined
  let lock: ServiceLock | undefined

  function stop(): Promise<void> {
    stopMetrics.abort()
    stopping ??= service.stop().finally(() => lock?.release())
    return stopping
  }

  async function start(): Promise<string> {
    try {
      // Listens before the store is open, so that a supervisor can distinguish starting from broken.
      const url = await service.listen()
      if (config.metricsPort !== undefined)
        await serveMetrics(service, config.metricsPort, config, log, stopMetrics.signal)
      await service.open()
      if (config.dbUrl.engine === 'sqlite') lock = lockForService(config.dbUrl.path)
      if (lock?.isTaken)
        log.warn(
          'DB_URL: another service uses this file; writes of the two wait for each other, or are refused',
        )
      for (const warning of config.warnings) log.warn(warning)
      if (config.generated.has('PASSWORD')) output.write(firstSteps(config, url))
      log.info({ url, username: config.username, database: describeDbUrl(config.dbUrl) }, 'listening')
      return url
    } catch (error) {
      await stop()
      throw error instanceof StoreNotOpened ? new OperatorError(`DB_URL: ${error.message}`) : error
    }
  }

  return { log, start, stop }
}

async function makeService(config: Config, log: FastifyBaseLogger, lines: LogStream): Promise<Service> {
  const loginLimit = new LoginThrottle(config.loginFailureLimit)
  if (config.threads > 1) {
    const { canSpreadConnections, supervise } = await import('./supervisor.ts')
    if (canSpreadConnections) return supervise(config, loginLimit, log, lines)
    log.warn('THREADS: this system cannot spread connections over threads, so one thread answers requests')
  }
  // This is most of the code. The main thread does not load it when other threads answer the requests.
  const { createHttpService } = await import('./http-service.ts')
  const single: Config = { ...config, threads: 1 }
  const limits = { loginLimit, importTurns: new ImportTurn() }
  return createHttpService(single, limits, log, () => openStore(single.dbUrl, storeOptions(single)))
}

/** Answers GET /metrics on a port of its own. */
async function serveMetrics(
  service: Service,
  port: number,
  { host }: Config,
  log: FastifyBaseLogger,
  signal: AbortSignal,
): Promise<void> {
  const { metricsServer, sumOfMetrics } = await import('../observability/metrics.ts')
  const server = metricsServer(async () => sumOfMetrics(await service.metrics()))
  signal.addEventListener('abort', () => {
    void stopListening(server)
    server.closeAllConnections()
  })
  const url = await listen(server, { host, port, setting: 'METRICS_PORT' })
  server.on('error', (err) => log.error({ err }, 'the server of the metrics failed'))
  log.info({ url: `${url}/metrics` }, 'metrics')
}

/** Tells a person who starts the service without PASSWORD where it is and how to log in. */
function firstSteps({ username, password }: Config, url: string): string {
  const login = shellQuoted(JSON.stringify({ username, password }))
  return `
The book catalogue is at ${url}

  username  ${username}
  password  ${password}   (generated for this run; set PASSWORD to choose your own)

Log in with

  curl ${url}/token -d ${login}

and send the token of the response in the Authorization header. Try every call at ${url}/docs

`
}
