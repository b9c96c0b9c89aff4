import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Store, StoreNotOpened, StoreUnavailable } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { describeError, OperatorError } from '../errors.ts'
import { type DbUrl, describeDbUrl } from '../store/db-url.ts'
import { openStore } from '../store/open.ts'

/** Connections of a command to a database server. It does one thing after the other. */
const CONNECTIONS = 2

type StoreSettings = Pick<Config, 'dbUrl' | 'storeTimeout'>

/**
 * Opens the store for a command, uses it, and closes it.
 * @param setting where the URL comes from, for messages.
 * @throws OperatorError if the store cannot be opened or used.
 */
export async function withStore<Result>(
  setting: string,
  { dbUrl, storeTimeout }: StoreSettings,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const report = (message: string) => process.stderr.write(`${setting}: ${message}\n`)
  report(`using ${describeDbUrl(dbUrl)}`)
  try {
    const store = await openStore(dbUrl, { connections: CONNECTIONS, timeout: storeTimeout, report })
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof StoreNotOpened || error instanceof StoreUnavailable)) throw error
    const isElsewhere = error instanceof StoreUnavailable && error.reason === 'temporary_disk'
    throw new OperatorError(`${isElsewhere ? '' : `${setting}: `}${describeError(error)}`, { cause: error })
  }
}

/** @throws OperatorError if there is no database file, because opening it would create one. */
export function requireDatabase(setting: string, dbUrl: DbUrl): void {
  if (dbUrl.engine === 'sqlite' && !existsSync(dbUrl.path)) {
    throw new OperatorError(`${setting}: there is no database ${resolve(dbUrl.path)}`)
  }
}
