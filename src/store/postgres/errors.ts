import pg from 'pg'
import { describeError } from '../../errors.ts'
import { type ErrorMeaning, isUnreachable, meaningOfFailure } from '../client-server/errors.ts'

/**
 * The error codes of PostgreSQL, and classes of codes (postgresql.org/docs/current/errcodes-appendix.html). Any other
 * code means that the statement is at fault and was not executed.
 */
const MEANINGS: Readonly<Record<string, ErrorMeaning>> = {
  '08': { outcome: 'lost', reason: 'connection', isNotReady: true },
  // A feature that is not supported.
  '0A000': { outcome: 'refused', isUnknownSyntax: true },
  // The square root of a negative number: the deadline of the write has passed (writtenInTime).
  '2201F': { outcome: 'late', reason: 'timeout' },
  // A unique value exists already, such as the name of a table.
  '23505': { outcome: 'refused', isLostRace: true },
  // The transaction is read-only, as on a standby.
  '25006': { outcome: 'moved', reason: 'read_only' },
  // A transaction was idle for too long, or took too long.
  '25P03': { outcome: 'refused', reason: 'timeout' },
  '25P04': { outcome: 'lost', reason: 'timeout' },
  // There is no schema in which the account may create a table.
  '3F000': { outcome: 'refused', isDenied: true },
  '40': { outcome: 'unknown', reason: 'conflict' },
  // A serialisation failure; a deadlock.
  '40001': { outcome: 'conflict', reason: 'conflict', isLostRace: true },
  '40P01': { outcome: 'conflict', reason: 'conflict', isLostRace: true },
  '42501': { outcome: 'refused', reason: 'read_only', isDenied: true },
  // A syntax error.
  '42601': { outcome: 'refused', isUnknownSyntax: true },
  // A column or table does not exist: the database was replaced, or is being restored.
  '42703': { outcome: 'refused', reason: 'other' },
  '42P01': { outcome: 'refused', reason: 'other' },
  // A table, a column or another object exists already.
  '42P07': { outcome: 'refused', isLostRace: true },
  '42701': { outcome: 'refused', isLostRace: true },
  '42710': { outcome: 'refused', isLostRace: true },
  // Out of memory, or at another limit.
  '53': { outcome: 'refused', reason: 'other', isNotReady: true },
  '53100': { outcome: 'refused', reason: 'disk', isNotReady: true },
  // Too many connections.
  '53300': { outcome: 'refused', reason: 'connection', isNotReady: true },
  // No lock within the time limit.
  '55P03': { outcome: 'refused', reason: 'conflict', isLostRace: true },
  '57': { outcome: 'unknown', reason: 'connection', isNotReady: true },
  // The statement was cancelled.
  '57014': { outcome: 'refused', reason: 'timeout', isNotReady: true },
  // The server stops and has rolled the work back; it crashes; it starts; it ends an idle session.
  '57P01': { outcome: 'moved', reason: 'connection', isNotReady: true },
  '57P02': { outcome: 'lost', reason: 'connection', isNotReady: true },
  '57P03': { outcome: 'moved', reason: 'connection', isNotReady: true },
  '57P05': { outcome: 'lost', reason: 'connection', isNotReady: true },
  '58': { outcome: 'unknown', reason: 'disk' },
  // Internal errors. Poolers and compatible servers also use them for lost connections and failed commits.
  XX: { outcome: 'unknown', isNotReady: true },
  // “tuple concurrently updated”, in the system catalogue of the server.
  XX000: { outcome: 'unknown', isNotReady: true, isLostRace: true },
}

export function meaningOf(error: unknown): ErrorMeaning {
  if (!(error instanceof pg.DatabaseError)) return meaningOfFailure(error, isTemporary(error))
  const code = error.code ?? ''
  return MEANINGS[code] ?? MEANINGS[code.slice(0, 2)] ?? { outcome: 'refused' }
}

/** Whether the server may be about to start. */
function isTemporary(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some((each) => meaningOf(each).isNotReady)
  return isUnreachable(error) || /^Connection terminated/.test(describeError(error))
}

/** Whether a commit with this error certainly stored nothing: a conflict, a constraint, an idle transaction. */
export const isNotCommitted = (error: unknown) =>
  error instanceof pg.DatabaseError && /^(40001|40P01|25P03|23)/.test(error.code ?? '')
