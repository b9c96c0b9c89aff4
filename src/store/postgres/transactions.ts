import type pg from 'pg'
import { describeError } from '../../errors.ts'
import { clockOffset } from './driver.ts'
import { isNotCommitted } from './errors.ts'

/**
 * A condition that fails after a time of the server's clock. A write that hangs in between, such as in a proxy, would
 * otherwise be done after its client was told that it failed, and undo a later write.
 * @param number the number of the placeholder of the time.
 */
export const writtenInTime = (number: number) =>
  `sqrt($${number}::float8 - extract(epoch FROM clock_timestamp())::float8) >= 0`

/** @returns the time of the server for one of `Date.now()`, in seconds. */
export const serverTime = (client: pg.Client, time: number) => (time + clockOffset(client)) / 1000

/**
 * Commits. If the server logs durations, it may report after the commit that it was told to stop, or to cancel the
 * statement.
 * @throws an error after which it is not known what was stored, except where it is certain.
 */
export async function commit(client: pg.Client): Promise<void> {
  try {
    await client.query('COMMIT')
  } catch (error) {
    throw isNotCommitted(error) ? error : new Error(`the commit failed: ${describeError(error)}`)
  }
}
