import { type Config, shareOf } from '../config.ts'
import type { Metrics, MetricValues } from '../observability/metrics.ts'

/** Answers requests, on one thread or on several. The main thread calls the same functions of each thread. */
export interface Service {
  /**
   * Requests wait until the store is open.
   * @param port instead of that of the settings.
   * @returns the URL of the service. @throws OperatorError
   */
  listen(port?: number): Promise<string>
  /** @throws StoreNotOpened */
  open(): Promise<void>
  /** Accepts no more connections, answers the requests in flight, and closes the store. */
  stop(): Promise<void>
  /** @returns the metrics of each thread, those of the main thread first. */
  metrics(): Promise<MetricValues[]>
}

/** Loads the code of the metrics only if METRICS_PORT is set. */
export async function makeMetrics({ metricsPort, dbUrl }: Config): Promise<Metrics | undefined> {
  if (metricsPort === undefined) return undefined
  const { Metrics } = await import('../observability/metrics.ts')
  return new Metrics(dbUrl.engine)
}

/** How each thread opens the store. */
export const storeOptions = (config: Config) => ({
  connections: shareOf(config.dbConnections, config),
  connectionMaxAge: config.dbConnectionMaxAge,
  timeout: config.storeTimeout,
  report: (message: string) => process.stderr.write(`DB_URL: ${message}\n`),
})
