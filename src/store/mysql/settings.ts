import type { Connection, RowDataPacket } from 'mysql2/promise'
import { applySettings, type Setting, type Settings } from '../client-server/settle.ts'
import { meaningOf } from './errors.ts'

/** Removes limits on reading. They are set first, because they also apply to SHOW VARIABLES. */
const NO_LIMITS = { sql_select_limit: 2n ** 64n - 1n, sql_big_selects: 'ON' }

const settings = (lockTime: number): Settings => ({
  ...NO_LIMITS,
  // It is also in the handshake, but a server may ignore that (skip-character-set-client-handshake).
  character_set_client: 'utf8mb4',
  character_set_results: 'utf8mb4',
  // This also sets character_set_connection.
  collation_connection: 'utf8mb4_bin',
  // No value is silently truncated or replaced, not even an id of 0.
  sql_mode: 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES',
  // A statement outside a transaction is committed by itself, and a commit does not begin a new transaction.
  autocommit: 'ON',
  completion_type: 'NO_CHAIN',
  // Higher levels lock the gaps between ids, and inserts wait for them. A server has one of these variables, or both.
  tx_isolation: 'READ-COMMITTED',
  transaction_isolation: 'READ-COMMITTED',
  // Shorter than the deadline of the service: otherwise the server would go on waiting after the service has given up.
  innodb_lock_wait_timeout: lockTime,
  lock_wait_timeout: lockTime,
  // Sort keys are compared in full: they may have 2,000 bytes.
  max_sort_length: 4096,
  // Otherwise the server refuses statements that may change many rows.
  sql_safe_updates: 'OFF',
  // Otherwise Galera repeats a statement that it has rolled back, and the books get other ids than those that the first
  // attempt has already returned.
  wsrep_retry_autocommit: 0,
})

/** Variables that together differ from one server to another. Not every server has all. */
const IDENTITY = ['hostname', 'port', 'server_id', 'server_uuid']

/** @param lockTime how long to wait for a lock, in seconds. @returns a text that identifies the server. */
export async function settleConnection(connection: Connection, lockTime: number): Promise<string> {
  let server = ''
  const set = (settings: readonly Setting[]) => connection.query(`SET SESSION ${settings.map(assignment)}`)
  await set(Object.entries(NO_LIMITS))
  await applySettings(settings(lockTime), {
    async read(names) {
      type Variable = { Variable_name: string; Value: string } & RowDataPacket
      const sql = 'SHOW SESSION VARIABLES WHERE variable_name IN (?)'
      const [rows] = await connection.query<Variable[]>(sql, [[...names, ...IDENTITY]])
      const values = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Value]))
      server = IDENTITY.map((name) => values.get(name)).join(' ')
      return values
    },
    set,
    meaningOf,
  })
  return server
}

const assignment = ([name, value]: Setting) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`
