import { codeOf, isAway, isDefect } from '../client-server/network-errors.ts'

/** The server or the transaction does not allow writes, for example on a replica. */
const READ_ONLY = [1290, 1792, 1836]

/**
 * Numbers of errors that are caused by the server and not by the statement (error references of dev.mysql.com and
 * mariadb.com).
 */
const UNAVAILABLE = new Set(
  Object.values({
    diskOrMemory: [1021, 1026, 1030, 1037, 1038, 1041, 1114, 1135, 3675],
    tooManyConnections: [1040, 1203, 1226],
    startingOrStopping: [1047, 1053, 1077, 1079, 1080],
    killedOrOutOfTime: [1317, 1927, 1969, 3024],
    lockWaitDeadlockOrCommit: [1180, 1205, 1213],
    readOnlyTable: [1036],
    readOnlyServer: READ_ONLY,
    /** Too many connections from this host failed. An administrator or a time limit unblocks it. */
    hostBlocked: [1129],
    storageOfTidb: [9001, 9002, 9003, 9004, 9005, 9006],
  }).flat(),
)

/** Deadlock, or a conflict between nodes of Galera or TiDB: the transaction was rolled back. */
const DEADLOCK = 1213

/** An unknown error. Proxies and compatible servers report lost connections and commits with it too. */
const UNKNOWN = 1105

/** Too many connections; a blocked host; a server that stops, starts, or waits for other nodes. */
const NOT_READY = new Set([1040, 1047, 1053, 1129, 1203])

/** Syntax error; not supported yet. */
const UNKNOWN_SYNTAX = [1064, 1235]

/** As ErrorClassifier.isUnavailable. */
export function isUnavailable(error: unknown): boolean {
  const number = errorNumber(error)
  // Everything that the connection itself reports: lost, cut, timed out, no longer trusted.
  return number === undefined ? !isDefect(error) : UNAVAILABLE.has(number)
}

/** As ErrorClassifier.isNotReady. */
export function isNotReady(error: unknown): boolean {
  const number = errorNumber(error)
  if (number !== undefined) return NOT_READY.has(number)
  return isAway(error) || codeOf(error) === 'PROTOCOL_CONNECTION_LOST'
}

/** As ErrorClassifier.isRolledBack. */
export function isRolledBack(error: unknown): boolean {
  return errorNumber(error) === DEADLOCK
}

/** As ErrorClassifier.isReadOnly. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.includes(errorNumber(error) ?? 0)
}

/** As ErrorClassifier.isRefused. */
export function isRefused(error: unknown): boolean {
  const number = errorNumber(error)
  if (number === undefined || number === UNKNOWN) return false
  return !isUnavailable(error) || isRolledBack(error) || isReadOnly(error)
}

/** As ErrorClassifier.isUnknownSyntax. */
export function isUnknownSyntax(error: unknown): boolean {
  return UNKNOWN_SYNTAX.includes(errorNumber(error) ?? 0)
}

/** An error for a transaction that the server has rolled back without reporting it. */
export function rolledBack(message: string): Error {
  return Object.assign(new Error(message), { errno: DEADLOCK, sqlState: '40001' })
}

/** The number of an error that the server reported. */
function errorNumber(error: unknown): number | undefined {
  const sent = error instanceof Error && 'sqlState' in error && 'errno' in error
  return sent && typeof error.errno === 'number' ? error.errno : undefined
}
