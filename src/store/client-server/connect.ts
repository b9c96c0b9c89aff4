import { setTimeout } from 'node:timers/promises'
import { StoreNotOpened, StoreUnavailable } from '../../catalogue/store.ts'
import { describeError } from './network-errors.ts'
import { ConnectionPool, type Driver } from './pool.ts'

/** How long to wait at start for a server that is not ready, and between attempts; milliseconds. */
const WAITING_TIME = 30_000
const INTERVAL = 500

/** What opening a store on a server takes. */
export interface OpenOptions {
  /** Connections to the server at most. */
  readonly connections: number
  /** Tells the operator of something that takes time; one line. */
  report(message: string): void
}

/** A server of databases, as its engine knows it. */
interface Server<Connection> {
  /** For messages. */
  readonly name: string
  readonly driver: Driver<Connection>
  /** Makes the database ready for books. */
  ensureSchema(connection: Connection): Promise<void>
  /** Whether it may accept a connection in a moment. */
  isNotReady(error: unknown): boolean
}

/**
 * Connects to a server, again and again while it is not ready, as when both start at the same time.
 * @throws StoreNotOpened when the time is over, or at once for what waiting does not help against.
 */
export async function openPool<Connection>(
  server: Server<Connection>,
  { connections, report }: OpenOptions,
): Promise<ConnectionPool<Connection>> {
  const pool = new ConnectionPool(server.driver, connections)
  try {
    await whenReady(server, pool, report)
    return pool
  } catch (error) {
    await pool.close()
    throw error
  }
}

async function whenReady<Connection>(
  { name, ensureSchema, isNotReady }: Server<Connection>,
  pool: ConnectionPool<Connection>,
  report: OpenOptions['report'],
): Promise<void> {
  const end = Date.now() + WAITING_TIME
  for (let attempts = 1; ; attempts++) {
    try {
      return await pool.use(ensureSchema)
    } catch (error) {
      const reason = describeError(error)
      if (!(error instanceof StoreUnavailable || isNotReady(error))) {
        throw new StoreNotOpened(`${name} cannot be used: ${reason}`, { cause: error })
      }
      if (Date.now() > end) {
        const waited = `${WAITING_TIME / 1000} seconds`
        throw new StoreNotOpened(`${name} was not ready within ${waited}: ${reason}`, { cause: error })
      }
      if (attempts === 1) report(`waiting up to ${WAITING_TIME / 1000} seconds for ${name}: ${reason}`)
    }
    await setTimeout(INTERVAL)
  }
}
