import type pg from 'pg'
import { type OpenOptions, openServer } from '../client-server/connect.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import type { ServerEngine } from '../client-server/store.ts'
import { postgresBooks } from './books.ts'
import { dialectOf } from './dialect.ts'
import { isReadOnly, PostgresDriver } from './driver.ts'
import { postgresImport } from './import.ts'
import { ensureSchema, LIMITS, missingRights, type Schema } from './schema.ts'
import { postgresKeyIndex, postgresSearchIndex } from './search-index.ts'
import type { PostgresTarget } from './url.ts'

/**
 * Connects to a PostgreSQL or compatible server. Waits if the server is not ready yet.
 * @param latest returns the target for each new connection.
 * @throws StoreNotOpened
 */
export function openPostgres(target: PostgresTarget, latest: () => PostgresTarget, options: OpenOptions) {
  const driver = new PostgresDriver(target, latest)
  return openServer({ product: 'PostgreSQL', target, driver, ensureSchema, engineOf }, options)
}

const engineOf = (schema: Schema): ServerEngine<pg.Client> => ({
  books: postgresBooks(schema),
  searchIndex: schema.hasWords ? postgresSearchIndex : undefined,
  keyIndex: schema.hasKeys ? postgresKeyIndex : undefined,
  createsWords: (book) => schema.hasWords && hasShortTexts(book),
  dialect: (_words, keys) => dialectOf(schema.hasKeys ? keys : 'computed'),
  isReadOnly,
  missingRights,
  importOn: (client, mode) => postgresImport(client, schema, mode),
  // If the server's own ANALYZE ran during the import, it saw no books, and the next one is a minute or more away.
  analyze: (client) => client.query(`${LIMITS}; ANALYZE books`),
  query: async (client, sql, values) => (await client.query(sql, values.slice())).rows,
})
