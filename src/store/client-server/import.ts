import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  StoreNotEmpty,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import type { Faults } from '../server-attempt.ts'
import { within } from '../timeout.ts'
import { describeError } from './network-errors.ts'
import type { ConnectionPool } from './pool.ts'

/** How long one statement of an import may take, and all of it; milliseconds. */
const STATEMENT_TIME = 60_000
const HOUR = 60 * 60 * 1000
const IMPORT_TIME = 24 * HOUR

/** What an engine does in the transaction of an import. */
export interface ImportTransaction {
  begin(): Promise<unknown>
  /** @returns the highest id that a book has; 0 if there is none. */
  highestId(): Promise<number>
  /**
   * @param above undefined to store all of them; else not those that a book equals that has this id or a lower one.
   * @returns how many were stored.
   */
  insert(books: readonly ImportedBook[], above: number | undefined): Promise<number>
  /** Stores the books with their ids. */
  insertWithIds(books: readonly ImportedBook[]): Promise<number>
  count(): Promise<number>
  /** Lets the ids of new books be higher than those that were stored. */
  continueIds(): Promise<unknown>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
}

/**
 * Imports books as Store.import promises it, in one transaction. Other connections see nothing of it before its end,
 * nor do they wait for it.
 */
export async function importIntoServer<Connection>(
  pool: ConnectionPool<Connection>,
  faults: Faults,
  transactionOn: (connection: Connection) => ImportTransaction,
  groups: AsyncIterable<readonly ImportedBook[]>,
  options: ImportOptions,
): Promise<Imported> {
  let result: { readonly imported: Imported } | { readonly refused: unknown }
  try {
    result = await pool.use((connection) => importWithin(transactionOn(connection), groups, options), {
      time: IMPORT_TIME,
      ...(options.signal && { signal: options.signal }),
      late: `the import was not finished within ${IMPORT_TIME / HOUR} hours`,
    })
  } catch (error) {
    options.signal?.throwIfAborted()
    const isUnavailable = faults.isUnavailable(error) || faults.isRolledBack(error)
    if (error instanceof StoreUnavailable || !isUnavailable) throw error
    throw new StoreUnavailable(describeError(error), { cause: error })
  }
  if ('refused' in result) throw result.refused
  return result.imported
}

/** What is wrong with the books rather than with the connection is returned: then that can be used again. */
async function importWithin(
  transaction: ImportTransaction,
  groups: AsyncIterable<readonly ImportedBook[]>,
  { skipExisting, dryRun, keepIds, signal }: ImportOptions,
): Promise<{ readonly imported: Imported } | { readonly refused: unknown }> {
  const refuse = async (refused: unknown) => {
    await inTime(transaction.rollback())
    return { refused }
  }
  await inTime(transaction.begin())
  if (keepIds && (await inTime(transaction.count())) > 0) return refuse(new StoreNotEmpty())
  const above = skipExisting ? await inTime(transaction.highestId()) : undefined
  const iterator = groups[Symbol.asyncIterator]()
  let [added, all] = [0, 0]
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => ({ refused: error }))
      if ('refused' in next) return refuse(next.refused)
      if (next.done) break
      signal?.throwIfAborted()
      added += await inTime(
        keepIds ? transaction.insertWithIds(next.value) : transaction.insert(next.value, above),
      )
      all += next.value.length
    }
  } finally {
    await iterator.return?.()
  }
  if (keepIds) {
    // Somebody else may have created one meanwhile.
    if ((await inTime(transaction.count())) !== added) return refuse(new StoreNotEmpty())
    if (added > 0) await inTime(transaction.continueIds())
  }
  // The connection is still there for a moment when it has been given up.
  signal?.throwIfAborted()
  if (dryRun) await inTime(transaction.rollback())
  else await inTime(transaction.commit(), ', and it is not known whether the books were stored')
  return { imported: { added, skipped: all - added } }
}

/** @param consequence what follows when the server is late, for the end of the message. */
const inTime = <Result>(work: Promise<Result>, consequence = '') =>
  within(
    work,
    STATEMENT_TIME,
    `the database server did not answer within ${STATEMENT_TIME / 1000} seconds${consequence}`,
  )
