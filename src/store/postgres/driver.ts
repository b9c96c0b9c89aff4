import type { ConnectionOptions } from 'node:tls'
import pg, { type ClientConfig } from 'pg'
import { describeError } from '../../errors.ts'
import { CONNECT_TIME, type Driver } from '../client-server/connections.ts'
import { type Address, ConnectTime, HostDriver } from '../client-server/hosts.ts'
import { isNotCommitted, meaningOf } from './errors.ts'
import { settleConnection } from './settings.ts'
import type { PostgresTarget } from './url.ts'

/** The type int8. pg returns its values as strings, but all values of the service are within ±(2^53−1). */
const INT8 = 20

export const IS_READ_ONLY = "(current_setting('transaction_read_only') = 'on')"

const STATE = `
  SELECT trunc(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock, ${IS_READ_ONLY} AS "isReadOnly"`

/**
 * What to add to `Date.now()` to get the time of the server, in milliseconds. It may be too small by the time that a
 * response of the server takes, but is never too large unless a clock is set.
 */
const clockOffsets = new WeakMap<pg.Client, number>()

/** Also updates the clock offset. @param more SQL of further columns to read. */
export async function isReadOnly(client: pg.Client, more = ''): Promise<boolean> {
  const { rows } = await client.query<{ clock: number; isReadOnly: boolean }>(STATE + more)
  const { clock, isReadOnly } = rows[0] ?? { clock: Date.now(), isReadOnly: false }
  // The server read its clock before the response arrived.
  clockOffsets.set(client, clock - Date.now())
  return isReadOnly
}

/** Members of pg.Client that its type declarations lack. */
interface Internals {
  readonly processID: number
  readonly secretKey: number
  readonly ssl: false | ConnectionOptions
  readonly connection: pg.Client['connection'] & {
    startup(): void
    cancel(processID: number, secretKey: number): void
  }
}

export class PostgresDriver extends HostDriver<pg.Client, PostgresTarget> implements Driver<pg.Client> {
  readonly meaningOf = meaningOf

  /** A cancel request needs a connection of its own, which sends the key of the other one instead of a login. */
  async cancel(client: pg.Client): Promise<void> {
    const { processID, secretKey, ssl } = client as unknown as Internals
    const canceller = this.#client(client, ssl)
    const { connection } = canceller as unknown as Internals
    connection.startup = () => connection.cancel(processID, secretKey)
    const time = new ConnectTime(CONNECT_TIME)
    time.cut(() => connection.stream)
    // The server closes the connection without a response.
    await canceller.connect().catch(() => {})
    time.end()
  }

  async reset(client: pg.Client): Promise<void> {
    // pg knows the status of the transaction only when the server has answered everything before.
    await client.query('')
    if (client.getTransactionStatus() !== 'I') await client.query('ROLLBACK')
  }

  destroy(client: pg.Client): void {
    client.connection.stream.destroy()
  }

  end(client: pg.Client): Promise<void> {
    return client.end()
  }

  protected async open(address: Address, time: ConnectTime) {
    const open = (ssl: false | ConnectionOptions) => this.#open(this.#client(address, ssl), time)
    const { tls } = this.target
    // Like libpq, ignores sslmode on a Unix socket.
    if (tls.mode === 'disable' || address.host?.startsWith('/')) return open(false)
    if (tls.mode !== 'allow' && tls.mode !== 'prefer') return open(this.encrypted)
    const first = tls.mode === 'allow' ? false : this.encrypted
    const second = first === false ? this.encrypted : false
    return open(first).catch((error) => {
      if (!isRefusedByHba(error) && !isWithoutTls(error)) throw error
      return open(second).catch((other) => {
        // If both are refused, the second error would only say that the other one is missing.
        throw isRefusedByHba(error) && isRefusedByHba(other) ? error : other
      })
    })
  }

  async #open(client: pg.Client, time: ConnectTime) {
    if (this.target.channelBinding === 'require') requireChannelBinding(client)
    time.cut(() => client.connection.stream)
    try {
      await client.connect()
      await settleConnection(client, (client as unknown as Internals).processID)
      return [client, await isReadOnly(client)] as const
    } catch (error) {
      this.destroy(client)
      throw lacksPassword(error) ? new Error(NO_PASSWORD) : error
    }
  }

  #client({ host, port }: Address, ssl: false | ConnectionOptions): pg.Client {
    const { user, password, database, options, applicationName, channelBinding } = this.target
    const config: ClientConfig = {
      user,
      password,
      host,
      port,
      database,
      options,
      application_name: applicationName,
      ssl,
      // Like libpq, offers it only with TLS.
      enableChannelBinding: ssl !== false && channelBinding !== 'disable',
      keepAlive: true,
      types: { getTypeParser },
    }
    const client = new pg.Client(config)
    // Without a listener, the error of a connection lost while idle would end the process. Its next use fails anyway.
    client.on('error', () => {})
    return client
  }
}

const NO_PASSWORD = 'the server asks for a password, and there is none in DB_URL, PGPASSWORD or ~/.pgpass'

function lacksPassword(error: unknown): boolean {
  return error instanceof Error && /client password must be a (non-empty )?string$/.test(error.message)
}

function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections'
}

/** Whether no entry of pg_hba.conf matches. One may match with TLS if this was without, and vice versa. */
function isRefusedByHba(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '28000'
}

/**
 * Destroys the connection unless the server authenticates with channel binding, which proves that nobody is in between
 * (RFC 5802 §6). Otherwise an attacker in between could ask for the password itself, or for no authentication.
 */
function requireChannelBinding(client: pg.Client): void {
  const { connection } = client
  const refuse = () => {
    connection.stream.destroy()
    // Emitted now, because the server may already have accepted the connection.
    connection.emit(
      'error',
      new Error('channel_binding=require, and the server does not use channel binding'),
    )
  }
  let proven = false
  connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    if (!mechanisms.includes('SCRAM-SHA-256-PLUS') || !('getPeerCertificate' in connection.stream)) refuse()
  })
  // The server's proof. pg ends the connection if it is wrong or unexpected.
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

/**
 * A condition that fails, with the square root of a negative number, after a time of the server's clock. Otherwise a
 * write that was delayed, such as in a proxy, would be carried out after its client was told that it had failed, and
 * could undo a later write.
 * @param number the number of the placeholder of the time.
 */
export const writtenInTime = (number: number) =>
  `sqrt($${number}::float8 - extract(epoch FROM clock_timestamp())::float8) >= 0`

/** Converts a time of `Date.now()` to one of the server's clock, in seconds. */
export const serverTime = (client: pg.Client, time: number) => (time + (clockOffsets.get(client) ?? 0)) / 1000

/**
 * A server that logs durations may report a shutdown or a cancellation after it has committed.
 * @throws an error after which it is unknown whether the commit was carried out, unless it certainly was not.
 */
export async function commit(client: pg.Client): Promise<void> {
  try {
    await client.query('COMMIT')
  } catch (error) {
    throw isNotCommitted(error) ? error : new Error(`the commit failed: ${describeError(error)}`)
  }
}
