import type { Store } from '../catalogue/store.ts'
import type { OpenOptions } from './client-server/connect.ts'
import { type DbUrl, latestTarget } from './db-url.ts'
import { openSqliteAlone } from './sqlite/store.ts'
import { DEFAULT_TIMEOUT } from './timeout.ts'

const DEFAULTS: OpenOptions = {
  connections: 10,
  connectionMaxAge: 30 * 60_000,
  timeout: DEFAULT_TIMEOUT,
  report: () => {},
}

/**
 * Opens the store and brings its schema up to date. Loads only the driver that it needs, so the service starts quickly.
 * With `reads`, a file of SQLite that can only be read is accepted.
 * @throws StoreNotOpened
 */
export async function openStore(
  dbUrl: DbUrl,
  { reads, ...given }: Partial<OpenOptions> & { readonly reads?: boolean } = {},
): Promise<Store> {
  const options = { ...DEFAULTS, ...given }
  switch (dbUrl.engine) {
    case 'sqlite':
      return openSqliteAlone(dbUrl.path, options.report, reads)
    case 'postgres': {
      const { openPostgres } = await import('./postgres/engine.ts')
      return openPostgres(dbUrl.target, () => latestTarget(dbUrl), options)
    }
    case 'mysql': {
      const { openMysql } = await import('./mysql/engine.ts')
      return openMysql(dbUrl.target, () => latestTarget(dbUrl), options)
    }
  }
}
