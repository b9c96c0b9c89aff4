import type pg from 'pg'
import { describeError } from '../../errors.ts'
import { isNotCommitted } from './errors.ts'

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
