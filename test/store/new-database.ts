import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import type { Databases } from '../support/database-server.ts'
import type { TestStore } from './use-store.ts'

/**
 * A store in a new database of its own.
 * @param table the statement that makes the table of books before the service does.
 */
export async function openNewDatabase(databases: Databases, table?: string): Promise<TestStore> {
  const url = await databases.createDatabase()
  if (table !== undefined) await databases.query(table, url)
  const open = () => openStore(parseDbUrl(url))
  let store = await open()
  return {
    store,
    reopen: async () => {
      await store.close()
      store = await open()
      return store
    },
    remove: async () => {
      await store.close()
      await databases.dropDatabase(url)
    },
  }
}
