import { codeOf, type ErrorMeaning, meanings } from '../client-server/errors.ts'

/** A deadlock, or a conflict between nodes of Galera or TiDB. The server has rolled the transaction back. */
const DEADLOCK = 1213

/** The error numbers of MySQL and MariaDB (error references of dev.mysql.com and mariadb.com). */
const TABLE: readonly (readonly [ErrorMeaning, readonly number[]])[] = [
  // Too many connections to the server, or of the account.
  [{ outcome: 'refused', reason: 'connection', isNotReady: true }, [1040, 1203]],
  // The account has exceeded a limit of resources.
  [{ outcome: 'refused', reason: 'connection' }, [1226]],
  // The host of the service is blocked until an administrator unblocks it.
  [{ outcome: 'unknown', reason: 'connection', isNotReady: true }, [1129]],
  // The host of the service may not connect.
  [{ outcome: 'refused', isNotReady: true }, [1130]],
  // A Galera node that has lost the others refuses all work.
  [{ outcome: 'moved', reason: 'connection', isNotReady: true }, [1047]],
  // The server is shutting down.
  [{ outcome: 'lost', reason: 'connection', isNotReady: true }, [1053]],
  // An administrator or a time limit has ended the connection.
  [{ outcome: 'lost', reason: 'connection' }, [1927, 4031]],
  [{ outcome: 'unknown', reason: 'connection' }, [1077, 1079, 1080]],
  // The statement was cancelled, or exceeded a time limit.
  [{ outcome: 'unknown', reason: 'timeout' }, [1317, 1969, 3024]],
  // An error during a commit; no lock within the time limit.
  [{ outcome: 'unknown', reason: 'conflict' }, [1180]],
  [{ outcome: 'refused', reason: 'conflict', isLostRace: true }, [1205]],
  [{ outcome: 'conflict', reason: 'conflict', isLostRace: true }, [DEADLOCK]],
  // The server or the transaction is read-only, as on a replica; the table is.
  [{ outcome: 'moved', reason: 'read_only' }, [1290, 1792, 1836]],
  [{ outcome: 'refused', reason: 'read_only' }, [1036]],
  // The account lacks a right on the database, a table or a column.
  [{ outcome: 'refused', reason: 'read_only', isDenied: true }, [1044, 1142, 1143]],
  // The disk is full or failing.
  [{ outcome: 'unknown', reason: 'disk' }, [1021, 1026, 1030, 3675]],
  [{ outcome: 'refused', reason: 'disk' }, [1114]],
  // Out of memory or threads; the storage of TiDB fails.
  [{ outcome: 'unknown', reason: 'other' }, [1037, 1038, 1041, 1135, 9001, 9002, 9003, 9004, 9005, 9006]],
  // A database, column, table or index does not exist: the database was replaced, or is being restored.
  [{ outcome: 'refused', reason: 'other' }, [1049, 1054, 1146, 1176]],
  // A table, column or index exists already; the table has just been altered.
  [{ outcome: 'refused', isLostRace: true }, [1050, 1060, 1061, 1412]],
  // A syntax error; a feature that is not supported.
  [{ outcome: 'refused', isUnknownSyntax: true }, [1064, 1235]],
  // An unknown error. Proxies and compatible servers also use it for lost connections and failed commits.
  [{ outcome: 'unknown', isNotReady: true }, [1105]],
]

export const meaningOf = meanings(
  TABLE,
  (error) => {
    const sent = error instanceof Error && 'sqlState' in error && 'errno' in error
    return sent && typeof error.errno === 'number' ? [error.errno] : undefined
  },
  (error) => codeOf(error) === 'PROTOCOL_CONNECTION_LOST',
)

/** The error for a transaction that the server has rolled back without reporting it. It counts as a deadlock. */
export function rolledBack(message: string): Error {
  return Object.assign(new Error(message), { errno: DEADLOCK, sqlState: '40001' })
}
