import { type Config, shareOf } from '../config.ts'
import type { Metrics } from '../observability/metrics.ts'

/** Answers requests, on one thread or on several. */
export interface Service {
  /** Requests wait until the store is open. @returns the URL of the service. @throws OperatorError */
  listen(): Promise<string>
  /** @throws StoreNotOpened */
  open(): Promise<void>
  /** Accepts no more connections, answers the requests in flight, and closes the store. */
  stop(): Promise<void>
  /** @returns the metrics in Prometheus' text format. */
  metrics(): Promise<string>
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
