import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { Store } from '../../catalogue/store.ts'
import { connect, type OpenOptions } from '../client-server/connect.ts'
import { hostNames, isForReads } from '../client-server/hosts.ts'
import { ANY_BOOK } from '../client-server/page-sql.ts'
import type { Runner } from '../client-server/pool.ts'
import { type ServerEngine, ServerStore } from '../client-server/store.ts'
import type { Value } from '../query/dialect.ts'
import { mysqlBooks } from './books.ts'
import { dialectOf, findRareWords, NO_WORDS } from './dialect.ts'
import { isReadOnly, MysqlDriver } from './driver.ts'
import { mysqlImport } from './import.ts'
import { ensureSchema, mayWrite, type Schema } from './schema.ts'
import { mysqlKeyIndex, mysqlSearchIndex } from './search-index.ts'
import type { MysqlTarget } from './url.ts'

/**
 * Connects to a MySQL, MariaDB or compatible server. Waits if the server is not ready yet.
 * @param latest returns the target for each new connection.
 * @throws StoreNotOpened
 */
export async function openMysql(
  target: MysqlTarget,
  latest: () => MysqlTarget,
  options: OpenOptions,
): Promise<Store> {
  const name = `the MySQL server at ${target.socket ?? hostNames(target)}`
  const prepare = (runner: Runner<Connection>) => ensureSchema(runner, options.report, isForReads(target))
  const [pool, schema] = await connect(
    { name, driver: new MysqlDriver(target, latest, options.timeout), prepare },
    options,
  )
  return new ServerStore(pool, mysqlEngine(schema, isForReads(target)), options.report)
}

function mysqlEngine(schema: Schema, isForReads: boolean): ServerEngine<Connection> {
  const { hasKeys, hasWords, yearKey } = schema
  return {
    books: mysqlBooks(schema),
    searchIndex: hasWords ? mysqlSearchIndex : undefined,
    keyIndex: hasKeys ? mysqlKeyIndex : undefined,
    createsWords: () => false,
    dialect: async (words, keys, query) =>
      dialectOf(yearKey, hasKeys ? keys : 'computed', words ? await findRareWords(words, query) : NO_WORDS),
    importOn: (connection) => mysqlImport(connection, schema),
    query,

    async ready(connection) {
      const readOnly = await isReadOnly(connection, ANY_BOOK)
      if (isForReads) return undefined
      if (readOnly) return 'the database server is read-only'
      return (await mayWrite(connection)) ? undefined : 'the account may not write'
    },
  }
}

/**
 * Does not prepare the statement, because the server would keep more and more different ones. mysql2 writes bytes as
 * hexadecimal literals, so texts need no escaping.
 */
async function query(
  connection: Connection,
  sql: string,
  values: readonly Value[],
): Promise<RowDataPacket[]> {
  const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
  const [rows] = await connection.query<RowDataPacket[]>(sql, bytes)
  return rows
}
