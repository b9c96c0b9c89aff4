import { codeOf, type ErrorMeaning, isUnreachable, meaningOfFailure } from '../client-server/errors.ts'

/** A deadlock, or a conflict between nodes of Galera or TiDB. The server has rolled the transaction back. */
const DEADLOCK = 1213

/**
 * The error numbers of MySQL and MariaDB (error references of dev.mysql.com and mariadb.com). Any other number means
 * that the statement is at fault and was not executed.
 */
const MEANINGS: Readonly<Record<number, ErrorMeaning>> = {
  // Too many connections to the server, or of the account; the account has exceeded a limit of resources.
  1040: { outcome: 'refused', reason: 'connection', isNotReady: true },
  1203: { outcome: 'refused', reason: 'connection', isNotReady: true },
  1226: { outcome: 'refused', reason: 'connection' },
  // The host of the service is blocked until an administrator unblocks it, or may not connect.
  1129: { outcome: 'unknown', reason: 'connection', isNotReady: true },
  1130: { outcome: 'refused', isNotReady: true },
  // A Galera node that has lost the others refuses all work.
  1047: { outcome: 'moved', reason: 'connection', isNotReady: true },
  // The server is shutting down; an administrator or a time limit has ended the connection.
  1053: { outcome: 'lost', reason: 'connection', isNotReady: true },
  1927: { outcome: 'lost', reason: 'connection' },
  4031: { outcome: 'lost', reason: 'connection' },
  1077: { outcome: 'unknown', reason: 'connection' },
  1079: { outcome: 'unknown', reason: 'connection' },
  1080: { outcome: 'unknown', reason: 'connection' },
  // The statement was cancelled, or exceeded a time limit.
  1317: { outcome: 'unknown', reason: 'timeout' },
  1969: { outcome: 'unknown', reason: 'timeout' },
  3024: { outcome: 'unknown', reason: 'timeout' },
  // An error during a commit; no lock within the time limit.
  1180: { outcome: 'unknown', reason: 'conflict' },
  1205: { outcome: 'refused', reason: 'conflict', isLostRace: true },
  [DEADLOCK]: { outcome: 'conflict', reason: 'conflict', isLostRace: true },
  // The server or the transaction is read-only, as on a replica; the table is.
  1290: { outcome: 'moved', reason: 'read_only' },
  1792: { outcome: 'moved', reason: 'read_only' },
  1836: { outcome: 'moved', reason: 'read_only' },
  1036: { outcome: 'refused', reason: 'read_only' },
  // The account lacks a right on the database, a table or a column.
  1044: { outcome: 'refused', reason: 'read_only', isDenied: true },
  1142: { outcome: 'refused', reason: 'read_only', isDenied: true },
  1143: { outcome: 'refused', reason: 'read_only', isDenied: true },
  // The disk is full or failing.
  1021: { outcome: 'unknown', reason: 'disk' },
  1026: { outcome: 'unknown', reason: 'disk' },
  1030: { outcome: 'unknown', reason: 'disk' },
  1114: { outcome: 'refused', reason: 'disk' },
  3675: { outcome: 'unknown', reason: 'disk' },
  // Out of memory or threads; the storage of TiDB fails.
  1037: { outcome: 'unknown', reason: 'other' },
  1038: { outcome: 'unknown', reason: 'other' },
  1041: { outcome: 'unknown', reason: 'other' },
  1135: { outcome: 'unknown', reason: 'other' },
  9001: { outcome: 'unknown', reason: 'other' },
  9002: { outcome: 'unknown', reason: 'other' },
  9003: { outcome: 'unknown', reason: 'other' },
  9004: { outcome: 'unknown', reason: 'other' },
  9005: { outcome: 'unknown', reason: 'other' },
  9006: { outcome: 'unknown', reason: 'other' },
  // A database, column, table or index does not exist: the database was replaced, or is being restored.
  1049: { outcome: 'refused', reason: 'other' },
  1054: { outcome: 'refused', reason: 'other' },
  1146: { outcome: 'refused', reason: 'other' },
  1176: { outcome: 'refused', reason: 'other' },
  // A table, column or index exists already; the table has just been altered.
  1050: { outcome: 'refused', isLostRace: true },
  1060: { outcome: 'refused', isLostRace: true },
  1061: { outcome: 'refused', isLostRace: true },
  1412: { outcome: 'refused', isLostRace: true },
  // A syntax error; a feature that is not supported.
  1064: { outcome: 'refused', isUnknownSyntax: true },
  1235: { outcome: 'refused', isUnknownSyntax: true },
  // An unknown error. Proxies and compatible servers also use it for lost connections and failed commits.
  1105: { outcome: 'unknown', isNotReady: true },
}

export function meaningOf(error: unknown): ErrorMeaning {
  const number = errorNumber(error)
  if (number === undefined) return meaningOfFailure(error, isTemporary(error))
  return MEANINGS[number] ?? { outcome: 'refused' }
}

/** Whether the server may be about to start. */
function isTemporary(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some((each) => meaningOf(each).isNotReady)
  return isUnreachable(error) || codeOf(error) === 'PROTOCOL_CONNECTION_LOST'
}

/** The error for a transaction that the server has rolled back without reporting it. It counts as a deadlock. */
export function rolledBack(message: string): Error {
  return Object.assign(new Error(message), { errno: DEADLOCK, sqlState: '40001' })
}

/** The number of an error that the server has reported; undefined for other errors. */
function errorNumber(error: unknown): number | undefined {
  const sent = error instanceof Error && 'sqlState' in error && 'errno' in error
  return sent && typeof error.errno === 'number' ? error.errno : undefined
}
