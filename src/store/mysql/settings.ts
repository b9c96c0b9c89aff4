import type { Connection, RowDataPacket } from 'mysql2/promise'
import { type Setting, type Settings, settle } from '../client-server/settle.ts'
import { meaningOf } from './errors.ts'

/** No limits of what is read. The server applies them to its list of variables, too. */
const NO_LIMITS = { sql_select_limit: 2n ** 64n - 1n, sql_big_selects: 'ON' }

/** @param lockTime in seconds. */
const settings = (lockTime: number): Settings => ({
  ...NO_LIMITS,
  // The handshake names it too, but a server may ignore that (skip-character-set-client-handshake).
  character_set_client: 'utf8mb4',
  character_set_results: 'utf8mb4',
  // This implies character_set_connection.
  collation_connection: 'utf8mb4_bin',
  // Nothing is truncated or replaced silently, not even an id of 0.
  sql_mode: 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES',
  // A statement outside of a transaction commits by itself, and a commit begins no transaction.
  autocommit: 'ON',
  completion_type: 'NO_CHAIN',
  // So gaps between ids are not locked, which would make inserts wait. Servers know one of the names, or both.
  tx_isolation: 'READ-COMMITTED',
  transaction_isolation: 'READ-COMMITTED',
  // Waiting for a lock ends before the deadline of the service, because the server would go on waiting for nobody.
  innodb_lock_wait_timeout: lockTime,
  lock_wait_timeout: lockTime,
  // Sort keys count in full; they may have 2,000 bytes.
  max_sort_length: 4096,
  // No statement is refused because it may change many rows.
  sql_safe_updates: 'OFF',
  // Galera would do a statement again that it has rolled back, and the books would get other ids than those that the
  // first attempt has already returned.
  wsrep_retry_autocommit: 0,
})

/** Sets what the service relies on. @param lockTime how long to wait for a lock, in seconds. */
export async function settleConnection(connection: Connection, lockTime: number): Promise<void> {
  const set = (settings: readonly Setting[]) => connection.query(`SET SESSION ${settings.map(assignment)}`)
  await set(Object.entries(NO_LIMITS))
  await settle(settings(lockTime), {
    async read(names) {
      type Variable = { Variable_name: string; Value: string } & RowDataPacket
      const sql = 'SHOW SESSION VARIABLES WHERE variable_name IN (?)'
      const [rows] = await connection.query<Variable[]>(sql, [names])
      return new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Value]))
    },
    set,
    meaningOf,
  })
}

const assignment = ([name, value]: Setting) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`
