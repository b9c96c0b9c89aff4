import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import mysql, { type Connection, type RowDataPacket, type SslOptions } from 'mysql2/promise'
import { CONNECT_TIME, type Driver } from '../client-server/connections.ts'
import { codeOf } from '../client-server/errors.ts'
import { type Address, ConnectTime, checksRole, HostDriver, unsuitable } from '../client-server/hosts.ts'
import { DEFAULT_TIMEOUT } from '../timeout.ts'
import { meaningOf } from './errors.ts'
import { settleConnection } from './settings.ts'
import type { MysqlTarget } from './url.ts'

/** Whether the server refuses writes. The variable is 0 or 1 on some servers, and a text on others. */
export const IS_READ_ONLY = "(CONCAT(@@global.read_only) NOT IN ('0', 'OFF'))"

/** On Galera also whether the node refuses all work. Only MariaDB executes the SQL inside the comment. */
const STATE = `
  SELECT ${IS_READ_ONLY} AS isReadOnly /*M! , 2 = (
    SELECT count(*) FROM information_schema.global_status
    WHERE variable_name = 'wsrep_ready' AND variable_value = 'OFF'
      OR variable_name = 'wsrep_provider_name' AND variable_value <> '') AS isDetached */`

/** A server has one of these variables, or both. */
const READ_ONLY_SESSION = `
  SHOW SESSION VARIABLES WHERE variable_name IN ('tx_read_only', 'transaction_read_only') AND value = 'ON'`

interface Endpoint {
  readonly socket: Socket
  readonly address: Address
  /** Identifies the server, which the address may not: it may be that of a balancer. */
  readonly server: string
}

export class MysqlDriver extends HostDriver<Connection, MysqlTarget> implements Driver<Connection> {
  readonly meaningOf = meaningOf
  /** How long to wait for a lock, in seconds. */
  readonly #lockTime: number
  readonly #endpoints = new WeakMap<Connection, Endpoint>()

  /** @param timeout how long an operation of the store may take, in milliseconds. */
  constructor(target: MysqlTarget, latest = () => target, timeout = DEFAULT_TIMEOUT) {
    super(target, latest)
    this.#lockTime = Math.max(1, Math.ceil(timeout / 1000) - 1)
  }

  /** Uses another connection, because the server reads nothing from this one until its statement ends. */
  async cancel(connection: Connection): Promise<void> {
    const { address, server } = this.#endpoints.get(connection) ?? {}
    if (address === undefined) return
    const time = new ConnectTime(CONNECT_TIME)
    const [canceller] = await this.open(address, time).finally(() => time.end())
    try {
      // On another server, somebody else may have this thread.
      if (this.#endpoints.get(canceller)?.server === server)
        await canceller.query(`KILL QUERY ${connection.threadId}`)
    } finally {
      this.destroy(canceller)
    }
  }

  reset(connection: Connection): Promise<void> {
    return connection.rollback()
  }

  /** Not mysql2's `destroy`, which waits until the server closes its side too. */
  destroy(connection: Connection): void {
    this.#endpoints.get(connection)?.socket.destroy()
  }

  async end(connection: Connection): Promise<void> {
    const { socket } = this.#endpoints.get(connection) ?? {}
    await connection.end()
    if (socket?.closed === false) await once(socket, 'close')
  }

  protected async open(address: Address, time: ConnectTime) {
    const { tls, socket } = this.target
    if (tls.mode === 'disable' || socket !== undefined) return this.#open(address, time)
    try {
      return await this.#open(address, time, this.encrypted)
    } catch (error) {
      if (tls.mode !== 'prefer' || codeOf(error) !== 'HANDSHAKE_NO_SSL_SUPPORT') throw error
      return this.#open(address, time)
    }
  }

  async #open({ host = '', port = 0 }: Address, time: ConnectTime, tls?: TlsOptions) {
    const { user, password, socket: path, database } = this.target
    const place = path === undefined ? { host, port } : { path }
    const socket = connect({ ...place, noDelay: true, keepAlive: true })
    time.cut(() => socket)
    try {
      const connection = await mysql.createConnection({
        stream: socket,
        host,
        port,
        database,
        charset: 'UTF8MB4_BIN',
        ...(user !== undefined && { user }),
        ...(password !== undefined && { password }),
        ...(tls !== undefined && { ssl: sslOptions(tls) }),
      })
      // Without a listener, the error of a lost connection would end the process. Statements on it fail anyway.
      connection.on('error', () => {})
      const server = await settleConnection(connection, this.#lockTime)
      this.#endpoints.set(connection, { socket, address: { host, port }, server })
      return [connection, checksRole(this.target) && (await isReadOnly(connection))] as const
    } catch (error) {
      socket.destroy()
      throw error
    }
  }
}

/** Runs a statement without preparing it. */
export async function rowsOf<Row>(
  connection: Connection,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const [rows] = await connection.query<(Row & RowDataPacket)[]>(sql, values.slice())
  return rows
}

/** @param more SQL of further columns to read. @throws a temporary error if a Galera node refuses all work. */
export async function isReadOnly(connection: Connection, more = ''): Promise<boolean> {
  type State = { isReadOnly: number; isDetached?: number }
  const [state] = await rowsOf<State>(connection, STATE + more)
  if (state?.isDetached) throw unsuitable('the node of Galera is not ready (wsrep_ready)')
  if (state?.isReadOnly === 1) return true
  return (await rowsOf(connection, READ_ONLY_SESSION)).length > 0
}

/** mysql2 has the setting verifyIdentity instead of Node's checkServerIdentity. */
function sslOptions({ checkServerIdentity, ca, cert, key, rejectUnauthorized }: TlsOptions): SslOptions {
  return {
    rejectUnauthorized: rejectUnauthorized === true,
    verifyIdentity: rejectUnauthorized === true && checkServerIdentity === undefined,
    ...(ca !== undefined && { ca: String(ca) }),
    ...(cert !== undefined && { cert: String(cert) }),
    ...(key !== undefined && { key: String(key) }),
  }
}
