import { type Config, shareOf } from '../config.ts'
import type { Metrics } from '../observability/metrics.ts'

/** Answers requests, on one thread or on several. */
export interface Service {
  /**
   * Requests that come before the store is open wait for it.
   * @returns the URL of the service.
   * @throws OperatorError
   */
  listen(): Promise<string>
  /** @throws StoreNotOpened */
  open(): Promise<void>
  /** Accepts no more connections, answers the requests in flight, and closes the store. */
  stop(): Promise<void>
  /** @returns the metrics, as text. */
  metrics(): Promise<string>
}

/** The metrics are loaded only where they are wanted. */
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
