import type pg from 'pg'
import { clockOffset } from './driver.ts'

/**
 * A condition that fails after a time of the server's clock. A write that hangs in between, such as in a proxy, would
 * otherwise be done after its client was told that it failed, and undo a later write.
 * @param number the number of the placeholder of the time.
 */
export const writtenInTime = (number: number) =>
  `sqrt($${number}::float8 - extract(epoch FROM clock_timestamp())::float8) >= 0`

/** @returns the time of the server for one of `Date.now()`, in seconds. */
export const serverTime = (client: pg.Client, time: number) => (time + clockOffset(client)) / 1000
