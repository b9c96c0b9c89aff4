import type { FastifyInstance } from 'fastify'
import { Auth } from '../../auth/auth.ts'
import { LoginThrottle } from '../../auth/login-throttle.ts'
import { type Store, StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { type Config, configWarnings } from '../../config.ts'
import { OperatorError } from '../../errors.ts'
import { collectGarbageWhenIdle } from '../../files/collect-garbage.ts'
import { stopOnSignal } from '../../http/graceful-shutdown.ts'
import { listen } from '../../http/listen.ts'
import { Cursors } from '../../http/page-cursor.ts'
import { createServer } from '../../http/server.ts'
import { output } from '../../observability/logging.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { onStopSignal } from '../../stop-signal.ts'
import { deferStore, openStore } from '../../store/open.ts'
import { type Command, withSettings } from '../command.ts'
import { firstSteps } from '../welcome.ts'

/** The service, until a signal stops it. */
export const command: Command = {
  usage: 'serve',
  description:
    'Starts the service; without a command the same happens. The settings say how: docs/configuration.md.',
  operands: 0,
  options: {},
  run: () => withSettings('start', start),
}

async function start(config: Config): Promise<void> {
  const opening = Promise.withResolvers<Store>()
  let opened: Store | undefined
  const auth = new Auth(config, config.secretToken)
  const cursors = new Cursors(config.secretToken)
  const loginLimit = new LoginThrottle(config.loginFailureLimit)
  const metrics = await makeMetrics(config)
  const app = await createServer(
    {
      store: deferStore(opening.promise, config.storeTimeout),
      auth,
      loginLimit,
      cursors,
      importLimit: config.importLimit,
    },
    config,
    metrics,
  )
  try {
    // Requests that wait for the store must not delay the end.
    onStopSignal(() =>
      opening.reject(new StoreUnavailable('the service is stopping', { nothingWritten: true })),
    )
    // Before anything says that the service is there: whoever reads that may stop it at once.
    stopOnSignal(app, async () => {
      metrics?.close()
      // Nothing was stored yet if it is still being opened, and waiting for it could take long.
      if (opened === undefined) process.exit()
      await opened.close()
    })
    // Listens before the store is open, so that whoever supervises the service can ask how it is.
    const url = await listenForAll(app, config, metrics)
    opened = await open(config)
    collectGarbageWhenIdle()
    opening.resolve(metrics?.measure(opened) ?? opened)
    for (const warning of configWarnings(config)) app.log.warn(warning)
    if (config.generated.has('PASSWORD')) output.write(firstSteps(config, url))
    app.log.info({ url, username: config.username }, 'listening')
  } catch (error) {
    opening.reject(new StoreUnavailable('the store cannot be opened', { cause: error, nothingWritten: true }))
    metrics?.close()
    await app.close()
    throw error
  }
}

/** The metrics are loaded only where they are wanted. */
async function makeMetrics(config: Config): Promise<Metrics | undefined> {
  if (config.metricsPort === undefined) return undefined
  const { Metrics } = await import('../../observability/metrics.ts')
  return new Metrics(config.dbUrl.engine)
}

async function open(config: Config): Promise<Store> {
  try {
    return await openStore(config.dbUrl, {
      connections: config.dbConnections,
      connectionMaxAge: config.dbConnectionMaxAge,
      timeout: config.storeTimeout,
      report: (message) => process.stderr.write(`DB_URL: ${message}\n`),
    })
  } catch (error) {
    throw error instanceof StoreNotOpened ? new OperatorError(`DB_URL: ${error.message}`) : error
  }
}

/** @returns the URL of the service. */
async function listenForAll(
  app: FastifyInstance,
  { host, port, metricsPort }: Config,
  metrics: Metrics | undefined,
): Promise<string> {
  await app.ready()
  const url = await listen(app.server, { host, port, setting: 'PORT' })
  app.server.on('error', (err) => app.log.error({ err }, 'the server failed'))
  if (metrics !== undefined && metricsPort !== undefined) {
    const metricsUrl = await listen(metrics.server, { host, port: metricsPort, setting: 'METRICS_PORT' })
    metrics.server.on('error', (err) => app.log.error({ err }, 'the server of the metrics failed'))
    app.log.info({ url: `${metricsUrl}/metrics` }, 'metrics')
  }
  return url
}
