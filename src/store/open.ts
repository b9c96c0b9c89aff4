import type { Store } from '../catalogue/store.ts'
import type { OpenOptions } from './client-server/connect.ts'
import type { DbUrl } from './db-url.ts'
import { openSqlite } from './sqlite/store.ts'

const DEFAULTS: OpenOptions = { connections: 10, report: () => {} }

/**
 * Opens the store and brings its schema up to date. A driver is loaded only where it is used, for a quick start.
 * @param options for an engine that is a server.
 * @throws StoreNotOpened
 */
export async function openStore(dbUrl: DbUrl, options: OpenOptions = DEFAULTS): Promise<Store> {
  switch (dbUrl.engine) {
    case 'sqlite':
      return openSqlite(dbUrl.path)
    case 'postgres':
      return (await import('./postgres/engine.ts')).openPostgres(dbUrl.target, options)
    case 'mysql':
      return (await import('./mysql/engine.ts')).openMysql(dbUrl.target, options)
  }
}
