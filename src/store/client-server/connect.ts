import timers from 'node:timers/promises'
import { type Store, StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import type { Driver } from './connections.ts'
import { type HostChoice, hostNames, isForReads } from './hosts.ts'
import { ConnectionPool } from './pool.ts'
import { type ServerEngine, serverStore } from './store.ts'

/** How long a start waits for a server that is not ready, and the time between two attempts; in milliseconds. */
const WAITING_TIME = 30_000
const INTERVAL = 500

export interface OpenOptions {
  readonly connections: number
  /** In milliseconds, like `timeout`, which is how long an operation may take. */
  readonly connectionMaxAge: number
  readonly timeout: number
  /** Ends the wait for a server. */
  readonly signal?: AbortSignal
  /** Tells the operator something, in one line. */
  report(message: string): void
}

interface DatabaseServer<Connection, Schema> {
  /** For messages, such as PostgreSQL. */
  readonly product: string
  readonly target: HostChoice & { readonly socket?: string | undefined }
  readonly driver: Driver<Connection>
  /** Prepares the database for books. Called again if the server was not ready. */
  ensureSchema(
    pool: ConnectionPool<Connection>,
    report: OpenOptions['report'],
    isForReads: boolean,
  ): Promise<Schema>
  engineOf(schema: Schema): ServerEngine<Connection>
}

/**
 * Connects to a server and prepares its database. Tries again while the server is not ready, for example because both
 * start at the same time.
 * @throws StoreNotOpened if the server is not ready in time, or at once for an error that will not pass.
 */
export async function openServer<Connection, Schema>(
  { product, target, driver, ensureSchema, engineOf }: DatabaseServer<Connection, Schema>,
  { connections, connectionMaxAge, timeout, signal, report }: OpenOptions,
): Promise<Store> {
  const name = `the ${product} server at ${target.socket ?? hostNames(target)}`
  const pool = new ConnectionPool(driver, { size: connections, maxAge: connectionMaxAge, timeout })
  let end = Date.now() + WAITING_TIME
  for (let isFirst = true; ; isFirst = false) {
    const begin = Date.now()
    try {
      const schema = await ensureSchema(pool, report, isForReads(target))
      pool.opened()
      return serverStore(pool, engineOf(schema), isForReads(target))
    } catch (error) {
      // There is no cause if the server did not answer.
      const cause = error instanceof StoreUnavailable ? error.cause : error
      const reason = describeError(cause ?? error)
      // The server worked on an index for long, and failed only now: the wait begins anew.
      if (Date.now() - begin > WAITING_TIME) end = Date.now() + WAITING_TIME
      const waited = `${WAITING_TIME / 1000} seconds`
      const isHopeless = cause !== undefined && !driver.meaningOf(cause).isNotReady
      if (isHopeless || Date.now() > end) {
        await pool.close()
        const what = isHopeless ? 'cannot be used' : `was not ready within ${waited}`
        throw new StoreNotOpened(`${name} ${what}: ${reason}`, { cause: error })
      }
      if (isFirst) report(`waiting up to ${waited} for ${name}: ${reason}`)
    }
    await timers.setTimeout(INTERVAL)
    if (signal?.aborted) {
      await pool.close()
      throw signal.reason
    }
  }
}
