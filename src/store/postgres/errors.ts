import pg from 'pg'
import { describeError } from '../../errors.ts'
import { isAway, isDefect } from '../client-server/network-errors.ts'

/** The transaction may not write, for example on a standby. */
const READ_ONLY = '25006'

/**
 * SQLSTATE codes and classes of errors that are caused by the server and not by the statement
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

/** The class of internal errors. Poolers and compatible servers report lost connections and commits with it too. */
const INTERNAL = 'XX'

/** Codes after which the statement has certainly not been done and may be tried again. */
const ROLLED_BACK = ['40001', '40P01']

/** Codes with which a server that is not ready refuses a connection. */
const NOT_READY = ['08', '53', '57']

/** Syntax error; feature not supported. */
const UNKNOWN_SYNTAX = ['42601', '0A000']

/** As ErrorClassifier.isUnavailable. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return UNAVAILABLE.some((code) => error.code?.startsWith(code))
  // Everything that the connection itself reports: lost, cut, timed out, no longer trusted.
  return !isDefect(error)
}

/** As ErrorClassifier.isNotReady. */
export function isNotReady(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return NOT_READY.some((code) => error.code?.startsWith(code))
  return isAway(error) || /^(Connection terminated|timeout expired)/.test(describeError(error))
}

/** As ErrorClassifier.isRolledBack. */
export function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ROLLED_BACK.includes(error.code ?? '')
}

/** As ErrorClassifier.isReadOnly. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === READ_ONLY
}

/** As ErrorClassifier.isRefused. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code?.startsWith(INTERNAL)) return false
  return !isUnavailable(error) || isRolledBack(error) || isReadOnly(error)
}

/** As ErrorClassifier.isUnknownSyntax. */
export function isUnknownSyntax(error: unknown): boolean {
  return error instanceof pg.DatabaseError && UNKNOWN_SYNTAX.includes(error.code ?? '')
}
