import { statSync } from 'node:fs'
import { type Store, StoreNotOpened, StoreUnavailable } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import { describeError, OperatorError } from '../errors.ts'
import { describeDbUrl } from '../store/db-url.ts'
import { openStore } from '../store/open.ts'

/** Connections to a database server. A command needs few, because it does one thing at a time. */
const CONNECTIONS = 2

/** `reads`: the command only reads, so an SQLite file that this user cannot write will do, but there has to be one. */
interface StoreSettings extends Pick<Config, 'dbUrl' | 'storeTimeout'> {
  readonly reads?: boolean
  /** Ends the wait for a server. */
  readonly signal: AbortSignal
}

/**
 * @param setting the setting or option that the URL comes from, for messages.
 * @throws OperatorError if the store cannot be opened or used.
 */
export async function withStore<Result>(
  setting: string,
  { dbUrl, storeTimeout, reads = false, signal }: StoreSettings,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  // Opening the store would create the file.
  if (reads && dbUrl.engine === 'sqlite' && !hasDatabase(dbUrl.path))
    throw new OperatorError(`${setting}: there is no database ${dbUrl.path}`)
  const report = (message: string) => process.stderr.write(`${setting}: ${message}\n`)
  report(`using ${describeDbUrl(dbUrl)}`)
  try {
    const store = await openStore(dbUrl, {
      connections: CONNECTIONS,
      timeout: storeTimeout,
      signal,
      report,
      reads,
    })
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    const isOfStore =
      error instanceof StoreNotOpened || error instanceof StoreUnavailable || isOfServer(error)
    if (!isOfStore) throw error
    const isOtherDisk = error instanceof StoreUnavailable && error.reason === 'temporary_disk'
    const message = error instanceof StoreNotOpened ? error.message : describeError(error)
    throw new OperatorError(`${isOtherDisk ? '' : `${setting}: `}${message}`, { cause: error })
  }
}

/** Whether a database server has refused a statement, for example because of a constraint. */
const isOfServer = (error: unknown) => error instanceof Error && ('severity' in error || 'sqlState' in error)

/** False if opening the store would create a database file. If the path is inaccessible, opening it reports why. */
export function hasDatabase(path: string): boolean {
  try {
    statSync(path)
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
  return true
}
