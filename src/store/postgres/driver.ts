import type { ConnectionOptions } from 'node:tls'
import pg, { type ClientConfig } from 'pg'
import { describeError, isAway, isDefect } from '../client-server/network-errors.ts'
import { CONNECT_TIME, type Driver } from '../client-server/pool.ts'
import { tlsOptions } from '../client-server/tls.ts'
import type { PostgresTarget } from './url.ts'

/** The transaction may not write, as on a standby. */
const READ_ONLY = '25006'

/**
 * SQLSTATE codes and classes that tell of the server rather than of the statement
 * (postgresql.org/docs/current/errcodes-appendix.html).
 */
const UNAVAILABLE = [
  '08', // connection
  READ_ONLY,
  '40', // rolled back: deadlock, serialisation
  '53', // too many connections, disk full, out of memory
  '57', // shutting down, starting up, cancelled by the operator
  '58', // I/O error
  '55P03', // lock not available
]

/** Those after which the statement has certainly not been done, and may be tried again. */
const ROLLED_BACK = ['40001', '40P01']

/** Those that say, while connecting, that the server is not ready yet. */
const NOT_READY = ['08', '53', '57']

/** int8, whose values pg would make strings: those of the service are within ±(2^53−1). */
const INT8 = 20

/** What pg has and its types do not. */
interface Internals {
  readonly processID: number
  readonly secretKey: number
  readonly ssl: false | ConnectionOptions
  readonly connection: { startup(): void; cancel(processID: number, secretKey: number): void }
}

/** Makes connections as the target says. */
export class PostgresDriver implements Driver<pg.Client> {
  readonly #target: PostgresTarget
  readonly #encrypted: ConnectionOptions

  /** @throws StoreNotOpened if a file for TLS cannot be read. */
  constructor(target: PostgresTarget) {
    this.#target = target
    this.#encrypted = tlsOptions(target.tls)
  }

  async connect(): Promise<pg.Client> {
    const { host, tls } = this.#target
    // TLS is for networks; libpq ignores sslmode on a Unix socket.
    if (tls.mode === 'disable' || (host ?? process.env.PGHOST)?.startsWith('/')) return this.#open(false)
    switch (tls.mode) {
      case 'allow':
        return this.#open(false).catch((error) => {
          if (!isRefusedAsItIs(error)) throw error
          return this.#open(this.#encrypted)
        })
      case 'prefer':
        return this.#open(this.#encrypted).catch((error) => {
          if (isWithoutTls(error)) return this.#open(false)
          if (!isRefusedAsItIs(error)) throw error
          // That of the attempt without TLS would only tell that it was without.
          return this.#open(false).catch((other) => {
            throw isRefusedAsItIs(other) ? error : other
          })
        })
      default:
        return this.#open(this.#encrypted)
    }
  }

  onLost(client: pg.Client, callback: () => void): void {
    client.on('error', callback).on('end', callback)
  }

  /** A cancel request is a connection of its own, with the key of the other in the place of a login. */
  async cancel(client: pg.Client): Promise<void> {
    const { processID, secretKey, ssl } = client as unknown as Internals
    const canceller = this.#client(ssl)
    const { connection } = canceller as unknown as Internals
    connection.startup = () => connection.cancel(processID, secretKey)
    // The server ends it without an answer.
    await canceller.connect().catch(() => {})
  }

  destroy(client: pg.Client): void {
    client.connection.stream.destroy()
  }

  end(client: pg.Client): Promise<void> {
    return client.end()
  }

  async #open(ssl: false | ConnectionOptions): Promise<pg.Client> {
    const client = this.#client(ssl)
    if (this.#target.channelBinding === 'require') requireChannelBinding(client)
    try {
      await client.connect()
    } catch (error) {
      this.destroy(client)
      throw error
    }
    return client
  }

  #client(ssl: false | ConnectionOptions): pg.Client {
    const { user, password, host, port, database, options, applicationName, channelBinding } = this.#target
    const config: ClientConfig = {
      user,
      password,
      host,
      port,
      database,
      options,
      application_name: applicationName,
      ssl,
      // As libpq: only with TLS is it said whether it could be done.
      enableChannelBinding: ssl !== false && channelBinding !== 'disable',
      connectionTimeoutMillis: CONNECT_TIME,
      keepAlive: true,
      types: { getTypeParser },
    }
    const client = new pg.Client(config)
    // Without a listener, a connection that is lost while idle would end the process; its next use fails anyway.
    client.on('error', () => {})
    return client
  }
}

/** Whether the error tells that the database cannot be used now, and may be later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return UNAVAILABLE.some((code) => error.code?.startsWith(code))
  // All that a connection itself reports: lost, cut, timed out, no longer trusted.
  return !isDefect(error)
}

/** Whether the server may accept this connection in a moment, as while it starts. */
export function isNotReady(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return NOT_READY.some((code) => error.code?.startsWith(code))
  return isAway(error) || /^(Connection terminated|timeout expired)/.test(describeError(error))
}

/** Whether the statement was rolled back for the sake of others, and can be done again. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ROLLED_BACK.includes(error.code ?? '')
}

/** Whether the server takes no writes on this connection, and has done nothing. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === READ_ONLY
}

function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections'
}

/** No entry of pg_hba.conf fits, which may be for connections with TLS alone, or for those without. */
function isRefusedAsItIs(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '28000'
}

/**
 * Cuts a connection on which the server does anything but authenticate, and itself, with the proof that nobody is
 * in between (RFC 5802 §6): who is in between may ask for the password instead, or for nothing.
 */
function requireChannelBinding(client: pg.Client): void {
  const { connection } = client
  const refuse = () => {
    connection.stream.destroy()
    // At once, because the server may already have sent that all is well.
    connection.emit(
      'error',
      new Error('channel_binding=require, and the server does not use channel binding'),
    )
  }
  let proven = false
  connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    if (!mechanisms.includes('SCRAM-SHA-256-PLUS') || !('getPeerCertificate' in connection.stream)) refuse()
  })
  // The server's own proof; pg fails the connection if it is wrong, or was not asked for.
  connection.prependListener('authenticationSASLFinal', () => {
    proven = true
  })
  connection.prependListener('authenticationOk', () => {
    if (!proven) refuse()
  })
  for (const event of ['authenticationCleartextPassword', 'authenticationMD5Password']) {
    connection.prependListener(event, refuse)
  }
}

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')
}
