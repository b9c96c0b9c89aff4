import type { Store } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { openStore } from '../store/open.ts'
import type { AnswerCount } from '../store/sqlite/shared-read.ts'

/**
 * Opens the store of one thread.
 * @param answers of all threads, if this one reads and writes an SQLite file for them.
 * @throws StoreNotOpened
 */
export function openConfiguredStore(config: Config, answers?: AnswerCount): Promise<Store> {
  return openStore(config.dbUrl, {
    connections: Math.floor(config.dbConnections / config.threads),
    connectionMaxAge: config.dbConnectionMaxAge,
    timeout: config.storeTimeout,
    report: (message) => process.stderr.write(`DB_URL: ${message}\n`),
    ...(answers && { answers }),
  })
}
