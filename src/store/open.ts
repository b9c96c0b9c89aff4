import type { Store } from '../catalogue/store.ts'
import { decorateStore } from '../catalogue/store-decorator.ts'
import type { OpenOptions } from './client-server/connect.ts'
import { type DbUrl, latestTarget } from './db-url.ts'
import { AnswerCount } from './sqlite/shared-read.ts'
import { openSqlite, prepareSqlite } from './sqlite/store.ts'
import { DEFAULT_TIMEOUT, withTimeout } from './timeout.ts'

interface SqliteOptions {
  /** Whether a file will do that can only be read. */
  readonly reads?: boolean
}

const DEFAULTS: OpenOptions = {
  connections: 10,
  connectionMaxAge: 30 * 60_000,
  timeout: DEFAULT_TIMEOUT,
  report: () => {},
}

/**
 * Opens the store and brings its schema up to date. Loads only the driver it needs, so the service starts quickly.
 * @param given options for an engine that is a server, or for an SQLite file.
 * @throws StoreNotOpened
 */
export async function openStore(
  dbUrl: DbUrl,
  { reads, ...given }: Partial<OpenOptions> & SqliteOptions = {},
): Promise<Store> {
  const options = { ...DEFAULTS, ...given }
  switch (dbUrl.engine) {
    case 'sqlite':
      return openSqliteAlone(dbUrl.path, options.report, reads)
    case 'postgres':
      return (await import('./postgres/engine.ts')).openPostgres(
        dbUrl.target,
        () => latestTarget(dbUrl),
        options,
      )
    case 'mysql':
      return (await import('./mysql/engine.ts')).openMysql(dbUrl.target, () => latestTarget(dbUrl), options)
  }
}

/** Opens a file that one thread of this process uses. */
function openSqliteAlone(path: string, report: OpenOptions['report'], reads = false): Store {
  const onReadOnly = (reason: string) =>
    report(`this user can only read the file, and cannot run the service on it: ${reason}`)
  const threads = prepareSqlite(path, report, reads ? onReadOnly : undefined)
  const connect = threads.connect.bind(threads)
  return openSqlite({ path, connect, answers: new AnswerCount(), threads: 1, end: () => threads.close() })
}

/**
 * A store that is still being opened. An operation waits for it so long, then throws StoreUnavailable.
 * @param timeout in milliseconds.
 * @param opening is fulfilled once the store is open. If it rejects, so do the waiting operations.
 */
export function deferStore(opening: Promise<Store>, timeout: number): Store {
  let opened: Store | undefined
  opening.then(
    (store) => {
      opened = store
    },
    // The waiting operations report it.
    () => {},
  )
  return decorateStore(
    (_, call) =>
      opened === undefined
        ? withTimeout(opening, timeout, 'the store is being opened').then(call)
        : call(opened),
    { load: () => opened?.load() ?? {}, close: async () => opened?.close() },
  )
}
