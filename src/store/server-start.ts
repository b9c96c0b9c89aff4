import { setTimeout } from 'node:timers/promises'
import { describeError } from './connection-errors.ts'
import { StoreNotOpened, StoreUnavailable } from './store.ts'

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

/**
 * Makes the first use of a server, again and again while it is not ready, as when both start at the same time.
 * @param name of the server, for messages.
 * @throws StoreNotOpened when the time is over, or at once for what waiting does not help against.
 */
export async function whenReady(
  name: string,
  use: () => Promise<void>,
  isNotReady: (error: unknown) => boolean,
  report: (message: string) => void,
): Promise<void> {
  const end = Date.now() + WAITING_TIME
  for (let attempts = 1; ; attempts++) {
    try {
      return await use()
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
