import pg from 'pg'
import { describeError } from '../../errors.ts'
import { type ErrorMeaning, isAway, meaningOfFailure } from '../client-server/errors.ts'

/**
 * What the codes of PostgreSQL mean, and classes of codes (postgresql.org/docs/current/errcodes-appendix.html). After
 * all others the statement is at fault, and was not done.
 */
const MEANINGS: Readonly<Record<string, ErrorMeaning>> = {
  '08': { outcome: 'lost', reason: 'connection', isNotReady: true },
  // Feature not supported.
  '0A000': { outcome: 'refused', isUnknownSyntax: true },
  // The square root of a negative number: the time that a write has left (writtenInTime).
  '2201F': { outcome: 'late', reason: 'timeout' },
  // A unique value, as the name of a table.
  '23505': { outcome: 'refused', isLostRace: true },
  // The transaction may not write, as on a standby.
  '25006': { outcome: 'moved', reason: 'read_only' },
  // A transaction was idle for too long, or took too long.
  '25P03': { outcome: 'refused', reason: 'timeout' },
  '25P04': { outcome: 'lost', reason: 'timeout' },
  // The account may use no schema to create a table in.
  '3F000': { outcome: 'refused', isDenied: true },
  '40': { outcome: 'unknown', reason: 'conflict' },
  // Serialisation, deadlock.
  '40001': { outcome: 'conflict', reason: 'conflict', isLostRace: true },
  '40P01': { outcome: 'conflict', reason: 'conflict', isLostRace: true },
  '42501': { outcome: 'refused', reason: 'read_only', isDenied: true },
  // Syntax error.
  '42601': { outcome: 'refused', isUnknownSyntax: true },
  // A column, or a table, does not exist: somebody has replaced the database, or restores it.
  '42703': { outcome: 'refused', reason: 'other' },
  '42P01': { outcome: 'refused', reason: 'other' },
  // A table, a column, another object exists already.
  '42P07': { outcome: 'refused', isLostRace: true },
  '42701': { outcome: 'refused', isLostRace: true },
  '42710': { outcome: 'refused', isLostRace: true },
  // Out of memory, limits.
  '53': { outcome: 'refused', reason: 'other', isNotReady: true },
  '53100': { outcome: 'refused', reason: 'disk', isNotReady: true },
  // Too many connections.
  '53300': { outcome: 'refused', reason: 'connection', isNotReady: true },
  // No lock in time.
  '55P03': { outcome: 'refused', reason: 'conflict', isLostRace: true },
  '57': { outcome: 'unknown', reason: 'connection', isNotReady: true },
  // The statement was cancelled.
  '57014': { outcome: 'refused', reason: 'timeout', isNotReady: true },
  // The server stops, and has rolled the work back; it crashes; it starts; it ends an idle session.
  '57P01': { outcome: 'moved', reason: 'connection', isNotReady: true },
  '57P02': { outcome: 'lost', reason: 'connection', isNotReady: true },
  '57P03': { outcome: 'moved', reason: 'connection', isNotReady: true },
  '57P05': { outcome: 'lost', reason: 'connection', isNotReady: true },
  '58': { outcome: 'unknown', reason: 'disk' },
  // Internal errors. Poolers and compatible servers report lost connections and commits with it too.
  XX: { outcome: 'unknown', isNotReady: true },
  // A tuple was concurrently updated, in the catalogue of the server.
  XX000: { outcome: 'unknown', isNotReady: true, isLostRace: true },
}

export function meaningOf(error: unknown): ErrorMeaning {
  if (!(error instanceof pg.DatabaseError)) return meaningOfFailure(error, mayPass(error))
  const code = error.code ?? ''
  return MEANINGS[code] ?? MEANINGS[code.slice(0, 2)] ?? { outcome: 'refused' }
}

/** Whether a server is perhaps about to start. */
function mayPass(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some((each) => meaningOf(each).isNotReady)
  return isAway(error) || /^Connection terminated/.test(describeError(error))
}

/** Whether a commit that failed with this error has certainly stored nothing: a conflict, a constraint, an idle transaction. */
export const isNotCommitted = (error: unknown) =>
  error instanceof pg.DatabaseError && /^(40001|40P01|25P03|23)/.test(error.code ?? '')
