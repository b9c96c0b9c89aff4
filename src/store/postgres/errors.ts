import pg from 'pg'
import { describeError } from '../../errors.ts'
import { type ErrorMeaning, meanings } from '../client-server/errors.ts'

/** The error codes of PostgreSQL, and classes of codes (postgresql.org/docs/current/errcodes-appendix.html). */
const TABLE: readonly (readonly [ErrorMeaning, readonly string[]])[] = [
  // The connection fails; the server crashes; it ends an idle session.
  [{ outcome: 'lost', reason: 'connection', isNotReady: true }, ['08', '57P02', '57P05']],
  // A feature that is not supported; a syntax error.
  [{ outcome: 'refused', isUnknownSyntax: true }, ['0A000', '42601']],
  // The square root of a negative number: the deadline of the write has passed (writtenInTime).
  [{ outcome: 'late', reason: 'timeout' }, ['2201F']],
  // A unique value, such as the name of a table; a table, a column or another object exists already.
  [{ outcome: 'refused', isLostRace: true }, ['23505', '42P07', '42701', '42710']],
  // The transaction is read-only, as on a standby.
  [{ outcome: 'moved', reason: 'read_only' }, ['25006']],
  // A transaction was idle for too long, or took too long.
  [{ outcome: 'refused', reason: 'timeout' }, ['25P03']],
  [{ outcome: 'lost', reason: 'timeout' }, ['25P04']],
  // There is no schema in which the account may create a table.
  [{ outcome: 'refused', isDenied: true }, ['3F000']],
  [{ outcome: 'unknown', reason: 'conflict' }, ['40']],
  // A serialisation failure; a deadlock.
  [{ outcome: 'conflict', reason: 'conflict', isLostRace: true }, ['40001', '40P01']],
  [{ outcome: 'refused', reason: 'read_only', isDenied: true }, ['42501']],
  // A column or table does not exist: the database was replaced, or is being restored.
  [{ outcome: 'refused', reason: 'other' }, ['42703', '42P01']],
  // Out of memory, or at another limit.
  [{ outcome: 'refused', reason: 'other', isNotReady: true }, ['53']],
  [{ outcome: 'refused', reason: 'disk', isNotReady: true }, ['53100']],
  // Too many connections.
  [{ outcome: 'refused', reason: 'connection', isNotReady: true }, ['53300']],
  // No lock within the time limit.
  [{ outcome: 'refused', reason: 'conflict', isLostRace: true }, ['55P03']],
  [{ outcome: 'unknown', reason: 'connection', isNotReady: true }, ['57']],
  // The statement was cancelled.
  [{ outcome: 'refused', reason: 'timeout', isNotReady: true }, ['57014']],
  // The server stops and has rolled the work back; it starts.
  [{ outcome: 'moved', reason: 'connection', isNotReady: true }, ['57P01', '57P03']],
  [{ outcome: 'unknown', reason: 'disk' }, ['58']],
  // Internal errors. Poolers and compatible servers also use them for lost connections and failed commits.
  [{ outcome: 'unknown', isNotReady: true }, ['XX']],
  // “tuple concurrently updated”, in the system catalogue of the server.
  [{ outcome: 'unknown', isNotReady: true, isLostRace: true }, ['XX000']],
]

export const meaningOf = meanings(
  TABLE,
  (error) => {
    if (!(error instanceof pg.DatabaseError)) return undefined
    const { code = '' } = error
    return [code, code.slice(0, 2)]
  },
  (error) => /^Connection terminated/.test(describeError(error)),
)

/** Whether a commit with this error certainly stored nothing: a conflict, a constraint, an idle transaction. */
export const isNotCommitted = (error: unknown) =>
  error instanceof pg.DatabaseError && /^(40001|40P01|25P03|23)/.test(error.code ?? '')

/** The error for a write that a trigger or row security has passed over. It counts as a conflict, and is done again. */
export const passedOver = (id: number) =>
  Object.assign(new pg.DatabaseError(`a trigger or row security keeps book ${id} as it is`, 0, 'error'), {
    code: '40001',
  })

/** Whether a new book has got an id that another program has given to a book. Row security hides the detail. */
export const isIdTaken = (error: unknown) =>
  error instanceof pg.DatabaseError && error.code === '23505' && /\(id[,)]/.test(error.detail ?? '(id)')
