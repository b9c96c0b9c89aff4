import type { DbUrl } from './db-url.ts'
import { openSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

/**
 * Opens the store and brings its schema up to date.
 * @throws StoreNotOpened
 */
export async function openStore(dbUrl: DbUrl): Promise<Store> {
  return openSqlite(dbUrl.path)
}
