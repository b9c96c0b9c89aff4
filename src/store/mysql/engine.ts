import type { Connection } from 'mysql2/promise'
import { type OpenOptions, openServer } from '../client-server/connect.ts'
import type { ServerEngine } from '../client-server/store.ts'
import { mysqlBooks } from './books.ts'
import { dialectOf, findRareWords } from './dialect.ts'
import { isReadOnly, MysqlDriver, rowsOf } from './driver.ts'
import { mysqlImport } from './import.ts'
import { ensureSchema, missingRights, type Schema } from './schema.ts'
import { mysqlKeyIndex, mysqlSearchIndex } from './search-index.ts'
import type { MysqlTarget } from './url.ts'

/**
 * Connects to a MySQL, MariaDB or compatible server. Waits if the server is not ready yet.
 * @param latest returns the target for each new connection.
 * @throws StoreNotOpened
 */
export function openMysql(target: MysqlTarget, latest: () => MysqlTarget, options: OpenOptions) {
  const driver = new MysqlDriver(target, latest, options.timeout)
  return openServer({ product: 'MySQL', target, driver, ensureSchema, engineOf }, options)
}

const engineOf = (schema: Schema): ServerEngine<Connection> => ({
  books: mysqlBooks(schema),
  searchIndex: schema.hasWords ? mysqlSearchIndex : undefined,
  keyIndex: schema.hasKeys ? mysqlKeyIndex : undefined,
  createsWords: () => false,
  async dialect(words, keys, query) {
    const rare = words && (await findRareWords(words, query))
    return dialectOf(schema.yearKey, schema.hasKeys ? keys : 'computed', rare)
  },
  isReadOnly,
  missingRights,
  importOn: (connection, mode) => mysqlImport(connection, schema, mode),
  query,
})

/**
 * Does not prepare the statement, because the server would keep more and more different ones. mysql2 writes bytes as
 * hexadecimal literals, so texts need no escaping.
 */
const query: ServerEngine<Connection>['query'] = (connection, sql, values) => {
  const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
  return rowsOf<unknown>(connection, sql, bytes)
}
