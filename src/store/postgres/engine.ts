import type pg from 'pg'
import type { Store } from '../../catalogue/store.ts'
import { connect, type OpenOptions } from '../client-server/connect.ts'
import { writesNothing } from '../client-server/ensure-schema.ts'
import { hostNames, isForReads } from '../client-server/hosts.ts'
import { ANY_BOOK } from '../client-server/page-sql.ts'
import type { Runner } from '../client-server/pool.ts'
import { hasShortTexts } from '../client-server/search-indexer.ts'
import { type ServerEngine, ServerStore } from '../client-server/store.ts'
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
export async function openPostgres(
  target: PostgresTarget,
  latest: () => PostgresTarget,
  options: OpenOptions,
): Promise<Store> {
  const name = `the PostgreSQL server at ${hostNames(target)}`
  const prepare = (runner: Runner<pg.Client>) => ensureSchema(runner, options.report, isForReads(target))
  const [pool, schema] = await connect({ name, driver: new PostgresDriver(target, latest), prepare }, options)
  return new ServerStore(pool, postgresEngine(schema, isForReads(target)), options.report)
}

function postgresEngine(schema: Schema, isForReads: boolean): ServerEngine<pg.Client> {
  const { hasKeys, hasWords } = schema
  return {
    books: postgresBooks(schema),
    searchIndex: hasWords ? postgresSearchIndex : undefined,
    keyIndex: hasKeys ? postgresKeyIndex : undefined,
    createsWords: (book) => hasWords && hasShortTexts(book),
    dialect: (_words, keys) => dialectOf(hasKeys ? keys : 'computed'),
    importOn: (client) => postgresImport(client, schema),
    // If the server's own ANALYZE ran during the import, it saw no books, and the next one is a minute or more away.
    analyze: (client) => client.query(`${LIMITS}; ANALYZE books`),

    async ready(client) {
      const readOnly = await isReadOnly(client, ANY_BOOK)
      if (isForReads) return undefined
      if (readOnly) return 'the database server is read-only'
      return writesNothing(await missingRights(client)) ? 'the account may not write' : undefined
    },

    async query(client, sql, values) {
      return (await client.query(sql, values.slice())).rows
    },
  }
}
