import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import mysql, { type Connection, type SslOptions } from 'mysql2/promise'
import { codeOf, isAway, isDefect } from '../client-server/network-errors.ts'
import { CONNECT_TIME, type Driver } from '../client-server/pool.ts'
import { tlsOptions } from '../client-server/tls.ts'
import type { MysqlTarget } from './url.ts'

/** The server, or the transaction, takes no writes; as on a replica. */
const READ_ONLY = [1290, 1792, 1836]

/**
 * Error numbers that tell of the server rather than of the statement (dev.mysql.com, mariadb.com: error reference).
 */
const UNAVAILABLE = new Set(
  Object.values({
    diskOrMemory: [1021, 1026, 1030, 1037, 1038, 1041, 1114, 1135, 3675],
    tooManyConnections: [1040, 1203, 1226],
    startingOrStopping: [1047, 1053, 1077, 1079, 1080],
    killedOrOutOfTime: [1317, 1927, 1969, 3024],
    lockWaitDeadlockOrCommit: [1180, 1205, 1213],
    readOnlyTable: [1036],
    readOnlyServer: READ_ONLY,
    /** Because others failed to connect; until an administrator, or a limit of time, unblocks it. */
    hostBlocked: [1129],
    storageOfTidb: [9001, 9002, 9003, 9004, 9005, 9006],
  }).flat(),
)

/** Deadlock, also a conflict between the nodes of Galera or TiDB: the transaction has certainly not been done. */
const DEADLOCK = 1213

/** Too many connections, a blocked host, and a server that goes down, comes up, or waits for the other nodes. */
const NOT_READY = new Set([1040, 1047, 1053, 1129, 1203])

/**
 * Nothing is truncated or replaced silently, not even an id of 0; every statement that is not in a transaction is one
 * of its own. A wait for a lock ends, in seconds, before the service gives up: the server would go on waiting when
 * nobody waits for it. Sort keys count in full, which may have 2,000 bytes.
 */
const SESSION = `
  SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', autocommit = 1,
    innodb_lock_wait_timeout = 3, lock_wait_timeout = 3, max_sort_length = 4096`
/** No gap between ids is locked, which would make inserts wait. */
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** Makes connections as the target says. */
export class MysqlDriver implements Driver<Connection> {
  readonly #target: MysqlTarget
  readonly #encrypted: TlsOptions
  readonly #sockets = new WeakMap<Connection, Socket>()

  /** @throws StoreNotOpened if a file for TLS cannot be read. */
  constructor(target: MysqlTarget) {
    this.#target = target
    this.#encrypted = tlsOptions(target.tls)
  }

  async connect(): Promise<Connection> {
    const { tls, socket } = this.#target
    if (tls.mode === 'disable' || socket !== undefined) return this.#open(undefined)
    try {
      return await this.#open(this.#encrypted)
    } catch (error) {
      const mayBePlain = tls.mode === 'prefer' || tls.mode === 'allow'
      if (!mayBePlain || codeOf(error) !== 'HANDSHAKE_NO_SSL_SUPPORT') throw error
      return this.#open(undefined)
    }
  }

  onLost(connection: Connection, callback: () => void): void {
    connection.on('error', callback).on('end', callback)
  }

  /** On another connection, for the server reads nothing on this one before it is done. */
  async cancel({ threadId }: Connection): Promise<void> {
    const canceller = await this.connect()
    try {
      await canceller.query(`KILL QUERY ${threadId}`)
    } finally {
      this.destroy(canceller)
    }
  }

  /** Not by mysql2, which would wait for the server to end it too. */
  destroy(connection: Connection): void {
    this.#sockets.get(connection)?.destroy()
  }

  async end(connection: Connection): Promise<void> {
    const socket = this.#sockets.get(connection)
    await connection.end()
    if (socket?.closed === false) await once(socket, 'close')
  }

  async #open(tls: TlsOptions | undefined): Promise<Connection> {
    const { user, password, host, port, socket: path, database } = this.#target
    const address = path === undefined ? { host, port } : { path }
    const socket = connect({ ...address, noDelay: true, keepAlive: true })
    const late = Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' })
    // mysql2's own limit ends before the first statements.
    const timer = setTimeout(() => socket.destroy(late), CONNECT_TIME)
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
      this.#sockets.set(connection, socket)
      // Without a listener, a connection that is lost would end the process; its use fails anyway.
      connection.on('error', () => {})
      await connection.query(SESSION)
      await connection.query(ISOLATION)
      return connection
    } catch (error) {
      socket.destroy()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Whether the error tells that the database cannot be used now, and may be later. */
export function isUnavailable(error: unknown): boolean {
  const number = errorNumber(error)
  // All that a connection itself reports: lost, cut, timed out, no longer trusted.
  return number === undefined ? !isDefect(error) : UNAVAILABLE.has(number)
}

/** Whether the server may accept this connection in a moment, as while it starts. */
export function isNotReady(error: unknown): boolean {
  const number = errorNumber(error)
  if (number !== undefined) return NOT_READY.has(number)
  return isAway(error) || codeOf(error) === 'PROTOCOL_CONNECTION_LOST'
}

/** Whether the transaction was rolled back for the sake of others, and can be done again. */
export function isRolledBack(error: unknown): boolean {
  return errorNumber(error) === DEADLOCK
}

/** Whether the server takes no writes on this connection, and has done nothing. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.includes(errorNumber(error) ?? 0)
}

/** The error for a transaction that the server has rolled back without reporting it. */
export function rolledBack(message: string): Error {
  return Object.assign(new Error(message), { errno: DEADLOCK, sqlState: '40001' })
}

/** The number of an error that the server sent. */
function errorNumber(error: unknown): number | undefined {
  const sent = error instanceof Error && 'sqlState' in error && 'errno' in error
  return sent && typeof error.errno === 'number' ? error.errno : undefined
}

/** mysql2 has a setting of its own in the place of Node's checkServerIdentity. */
function sslOptions({ checkServerIdentity, ca, cert, key, rejectUnauthorized }: TlsOptions): SslOptions {
  return {
    rejectUnauthorized: rejectUnauthorized === true,
    verifyIdentity: rejectUnauthorized === true && checkServerIdentity === undefined,
    ...(ca !== undefined && { ca: String(ca) }),
    ...(cert !== undefined && { cert: String(cert) }),
    ...(key !== undefined && { key: String(key) }),
  }
}
