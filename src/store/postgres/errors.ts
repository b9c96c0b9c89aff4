import pg from 'pg'
import type { UnavailableReason } from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import { isAway, isDefect } from '../client-server/network-errors.ts'

/** The square root of a negative number: the time that a write has left (write-deadline.ts). */
const LATE = '2201F'

/** The transaction may not write, as on a standby; the server stops, and has rolled the work back; it starts. */
const ROLE_CHANGE = [
  '25006',
  '57P01',
  '57P03',
  // If there is time left, the clock of the server was set since the connection was made.
  LATE,
]

/** The account lacks a right. */
const DENIED = '42501'

const NO_SCHEMA = '3F000'

/** A transaction was idle for too long, and was rolled back. */
const IDLE_TRANSACTION = '25P03'

/** Codes after which the statement has certainly not been done and may be tried again. */
const ROLLED_BACK = ['40001', '40P01']

/**
 * SQLSTATE codes and classes of errors that are caused by the server and not by the statement, with their reasons; the
 * first that fits counts (postgresql.org/docs/current/errcodes-appendix.html).
 */
const REASONS: readonly [string, UnavailableReason][] = [
  ['08', 'connection'],
  ['25006', 'read_only'],
  [DENIED, 'read_only'],
  [LATE, 'timeout'],
  [IDLE_TRANSACTION, 'timeout'],
  ['25P04', 'timeout'],
  ['40', 'conflict'], // deadlock, serialisation
  ['53100', 'disk'],
  ['53300', 'connection'], // too many
  ['53', 'other'], // out of memory, limits
  ['55P03', 'conflict'], // lock not available
  ['57014', 'timeout'],
  ['57', 'connection'], // shutting down, starting up
  ['58', 'disk'],
]
const UNAVAILABLE = REASONS.map(([code]) => code)

/** The class of internal errors. Poolers and compatible servers report lost connections and commits with it too. */
const INTERNAL = 'XX'

/** Codes of UNAVAILABLE after which the statement has certainly not been done: also those of a lock, a limit of time. */
const REFUSED = [...ROLLED_BACK, ...ROLE_CHANGE, DENIED, IDLE_TRANSACTION, '53', '55P03', '57014']

/** Codes of a commit after which nothing is stored: also those of a constraint. */
const NOT_COMMITTED = [...ROLLED_BACK, IDLE_TRANSACTION, '23']

/** Codes with which the server ends a connection at any moment. */
const LOST = ['08', '57P02', '57P05', '25P04']

/** Codes with which a server that is not ready refuses a connection. */
const NOT_READY = ['08', '53', '57', INTERNAL]

/** A table or a column does not exist. */
const MISSING_TABLE = ['42P01', '42703']

/** Syntax error; feature not supported. */
const UNKNOWN_SYNTAX = ['42601', '0A000']

/** As ErrorClassifier.isUnavailable. */
export function isUnavailable(error: unknown): boolean {
  // Everything that the connection itself reports: lost, cut, timed out, no longer trusted.
  return error instanceof pg.DatabaseError ? hasCode(error, UNAVAILABLE) : !isDefect(error)
}

/** As ErrorClassifier.reasonOf. */
export function reasonOf(error: unknown): UnavailableReason {
  if (!(error instanceof pg.DatabaseError)) return 'connection'
  return REASONS.find(([code]) => error.code?.startsWith(code))?.[1] ?? 'other'
}

/** As ErrorClassifier.isNotReady. */
export function isNotReady(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isNotReady)
  if (error instanceof pg.DatabaseError) return hasCode(error, NOT_READY)
  return isAway(error) || /^Connection terminated/.test(describeError(error))
}

/** As ErrorClassifier.isRolledBack. */
export const isRolledBack = (error: unknown) => hasCode(error, ROLLED_BACK)

/** As ErrorClassifier.isRoleChange. */
export const isRoleChange = (error: unknown) => hasCode(error, ROLE_CHANGE)

/** As ErrorClassifier.isExpired. */
export const isExpired = (error: unknown) => hasCode(error, [LATE])

/** As ErrorClassifier.isLost. */
export function isLost(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? hasCode(error, LOST) : !isDefect(error)
}

/** As ErrorClassifier.isRefused. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || hasCode(error, [INTERNAL])) return false
  return !isUnavailable(error) || hasCode(error, REFUSED)
}

/** Whether a commit that failed with this error has certainly stored nothing. */
export const isNotCommitted = (error: unknown) => hasCode(error, NOT_COMMITTED)

/** As ErrorClassifier.isMissingTable. */
export const isMissingTable = (error: unknown) => hasCode(error, MISSING_TABLE)

/** The account lacks a right that the statement needs, or may use no schema to create a table in. */
export const isDenied = (error: unknown) => hasCode(error, [DENIED, NO_SCHEMA])

/** As ErrorClassifier.isUnknownSyntax. */
export const isUnknownSyntax = (error: unknown) => hasCode(error, UNKNOWN_SYNTAX)

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof pg.DatabaseError && codes.some((code) => error.code?.startsWith(code))
}
