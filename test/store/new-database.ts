import type { OpenOptions } from '../../src/store/client-server/connect.ts'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import type { Databases } from '../support/database-server.ts'
import { nameIn } from '../support/database-url.ts'
import type { TestData } from './use-store.ts'

/** Of stores whose deadline is not what is tested: it lets a machine stand still for some seconds; milliseconds. */
export const TIMEOUT = 60_000

export const openPatiently = (url: string, options: Partial<OpenOptions> = {}) =>
  openStore(parseDbUrl(url), { timeout: TIMEOUT, ...options })

/**
 * A new database of its own for a store.
 * @param prepare what the administrator does there before; the name is that of the database and of its user.
 */
export async function openNewDatabase(
  databases: Databases,
  prepare: (name: string) => readonly string[] = () => [],
): Promise<TestData> {
  const url = await databases.createDatabase()
  for (const statement of prepare(nameIn(url))) await databases.query(statement, url)
  return { open: () => openPatiently(url), remove: () => databases.dropDatabase(url) }
}
