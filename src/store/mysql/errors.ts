import type { UnavailableReason } from '../../catalogue/store.ts'
import { codeOf, isAway, isDefect } from '../client-server/network-errors.ts'

/** The server or the transaction does not allow writes, for example on a replica. */
const READ_ONLY = [1290, 1792, 1836]

/** The account lacks a right: for a database, a table, a column. */
const DENIED = [1044, 1142, 1143]

/**
 * Numbers of errors that are caused by the server and not by the statement, by their reason (error references of
 * dev.mysql.com and mariadb.com).
 */
const REASONS = new Map<UnavailableReason, readonly number[]>([
  // Too many; starting or stopping; killed; blocked, until an administrator or a time limit unblocks it.
  ['connection', [1040, 1203, 1226, 1047, 1053, 1077, 1079, 1080, 1927, 4031, 1129]],
  ['timeout', [1317, 1969, 3024]],
  ['conflict', [1180, 1205, 1213]],
  ['read_only', [...READ_ONLY, 1036, ...DENIED]],
  ['disk', [1021, 1026, 1030, 1114, 3675]],
  // Out of memory or threads; the storage of TiDB.
  ['other', [1037, 1038, 1041, 1135, 9001, 9002, 9003, 9004, 9005, 9006]],
])

/** A node of Galera that has lost the others does no work. */
const ROLE_CHANGE = [...READ_ONLY, 1047]

/** Deadlock, or a conflict between nodes of Galera or TiDB: the transaction was rolled back. */
const DEADLOCK = 1213

/** An unknown error. Proxies and compatible servers report lost connections and commits with it too. */
const UNKNOWN = 1105

/**
 * Numbers of UNAVAILABLE after which the statement has certainly not been done: including too many connections, a full
 * table, a lock wait, and a table that may not be written.
 */
const REFUSED = [DEADLOCK, ...ROLE_CHANGE, ...DENIED, 1036, 1040, 1114, 1203, 1205, 1226]

/** Numbers with which the server ends a connection: it stops, or an administrator has ended it. */
const LOST = [1053, 1927, 4031]

/** Too many connections; a host that is blocked or unknown; a server that stops, starts, or waits for other nodes. */
const NOT_READY = [1040, 1047, 1053, UNKNOWN, 1129, 1130, 1203]

/** A database, a table, a column or an index does not exist. */
const MISSING_TABLE = [1049, 1054, 1146, 1176]

/** Syntax error; not supported yet. */
const UNKNOWN_SYNTAX = [1064, 1235]

/** As ErrorClassifier.isUnavailable. */
export function isUnavailable(error: unknown): boolean {
  const number = errorNumber(error)
  // Everything that the connection itself reports: lost, cut, timed out, no longer trusted.
  return number === undefined ? !isDefect(error) : reasonOfNumber(number) !== undefined
}

/** As ErrorClassifier.reasonOf. */
export function reasonOf(error: unknown): UnavailableReason {
  const number = errorNumber(error)
  return number === undefined ? 'connection' : (reasonOfNumber(number) ?? 'other')
}

function reasonOfNumber(number: number): UnavailableReason | undefined {
  for (const [reason, numbers] of REASONS) if (numbers.includes(number)) return reason
  return undefined
}

/** As ErrorClassifier.isNotReady. */
export function isNotReady(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isNotReady)
  if (errorNumber(error) !== undefined) return hasNumber(error, NOT_READY)
  return isAway(error) || codeOf(error) === 'PROTOCOL_CONNECTION_LOST'
}

/** As ErrorClassifier.isRolledBack. */
export const isRolledBack = (error: unknown) => hasNumber(error, [DEADLOCK])

/** As ErrorClassifier.isRoleChange. */
export const isRoleChange = (error: unknown) => hasNumber(error, ROLE_CHANGE)

/** As ErrorClassifier.isExpired. No statement of this engine has a deadline. */
export const isExpired = () => false

/** As ErrorClassifier.isLost. */
export function isLost(error: unknown): boolean {
  return errorNumber(error) === undefined ? !isDefect(error) : hasNumber(error, LOST)
}

/** As ErrorClassifier.isRefused. */
export function isRefused(error: unknown): boolean {
  if (errorNumber(error) === undefined || hasNumber(error, [UNKNOWN])) return false
  return !isUnavailable(error) || hasNumber(error, REFUSED)
}

/** As ErrorClassifier.isMissingTable. */
export const isMissingTable = (error: unknown) => hasNumber(error, MISSING_TABLE)

/** The account lacks a right that the statement needs. */
export const isDenied = (error: unknown) => hasNumber(error, DENIED)

/** As ErrorClassifier.isUnknownSyntax. */
export const isUnknownSyntax = (error: unknown) => hasNumber(error, UNKNOWN_SYNTAX)

/** An error for a transaction that the server has rolled back without reporting it. */
export function rolledBack(message: string): Error {
  return Object.assign(new Error(message), { errno: DEADLOCK, sqlState: '40001' })
}

function hasNumber(error: unknown, numbers: readonly number[]): boolean {
  return numbers.includes(errorNumber(error) ?? 0)
}

/** The number of an error that the server reported. */
function errorNumber(error: unknown): number | undefined {
  const sent = error instanceof Error && 'sqlState' in error && 'errno' in error
  return sent && typeof error.errno === 'number' ? error.errno : undefined
}
