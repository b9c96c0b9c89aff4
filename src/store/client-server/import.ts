import { type Imported, type ImportedBook, type ImportOptions, StoreNotEmpty } from '../../catalogue/store.ts'
import { withTimeout } from '../timeout.ts'
import type { ConnectionPool } from './pool.ts'

/** The time for one statement of an import, in milliseconds. */
const STATEMENT_TIME = 60_000

const IMPORT_HOURS = 24

export interface ImportMode {
  /** Whether books are stored under their own ids. */
  readonly keepIds: boolean
  /** Whether existing books can be found by their sort keys. Otherwise all books are read. */
  readonly hasAllKeys: boolean
}

/** What an engine does in the transaction of an import. */
export interface ImportTransaction {
  begin(): Promise<unknown>
  /** @returns the `value` that a statement selects; 0 for NULL. */
  number(sql: string): Promise<number>
  /**
   * @param known the highest id before the import: a book that equals one up to there is not stored. If undefined, all
   * are stored.
   * @returns a promise that is fulfilled when more books can be given. The engine may still be storing these then.
   */
  insert(books: readonly ImportedBook[], known: number | undefined): Promise<unknown>
  /** @returns how many books were stored, once all of them are. */
  stored(): Promise<number>
  /** Ensures that later books get higher ids than those that were stored, if the server does not do so by itself. */
  continueIds?(): Promise<unknown>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
}

const HIGHEST_ID = 'SELECT MAX(id) AS value FROM books'
const COUNT = 'SELECT COUNT(*) AS value FROM books'

/**
 * Does Store.import in one transaction. Other connections neither see the books before its end nor wait for it.
 */
export async function importIntoServer<Connection>(
  pool: ConnectionPool<Connection>,
  transactionOn: (connection: Connection) => ImportTransaction,
  groups: AsyncIterable<readonly ImportedBook[]>,
  { signal: given, skipExisting, dryRun, keepIds }: ImportOptions,
): Promise<Imported> {
  // The signal cancels nothing from the commit on. Otherwise it would not be known whether the books are stored.
  const cancelled = new AbortController()
  const { signal } = cancelled
  const cancel = () => cancelled.abort(given?.reason)
  const ignoreSignal = () => given?.removeEventListener('abort', cancel)
  given?.throwIfAborted()
  given?.addEventListener('abort', cancel)

  /** Returns errors of `groups` instead of throwing them, which would cost the pool the connection. */
  async function importOn(connection: Connection) {
    const transaction = transactionOn(connection)
    const refuse = async (refused: unknown) => {
      await inTime(transaction.rollback())
      return { refused }
    }
    await inTime(transaction.begin())
    if (keepIds && (await inTime(transaction.number(COUNT))) > 0) return refuse(new StoreNotEmpty())
    // In an empty table, there is nothing to look up. On MySQL, doing so took two thirds more time.
    const known = skipExisting ? (await inTime(transaction.number(HIGHEST_ID))) || undefined : undefined
    const iterator = groups[Symbol.asyncIterator]()
    let all = 0
    try {
      for (;;) {
        const next = await iterator.next().catch((error: unknown) => ({ refused: error }))
        if ('refused' in next) return refuse(next.refused)
        if (next.done) break
        signal.throwIfAborted()
        await inTime(transaction.insert(next.value, known))
        all += next.value.length
      }
    } finally {
      await iterator.return?.()
    }
    const added = await inTime(transaction.stored())
    if (keepIds) {
      // Another client may have created a book in the meantime.
      if ((await inTime(transaction.number(COUNT))) !== added) return refuse(new StoreNotEmpty())
      if (added > 0 && transaction.continueIds) await inTime(transaction.continueIds())
    }
    // After an abort, the connection still works for a moment: nothing may be committed then.
    signal.throwIfAborted()
    if (dryRun) await inTime(transaction.rollback())
    else {
      ignoreSignal()
      await inTime(transaction.commit(), true)
    }
    return { imported: { added, skipped: all - added } }
  }

  // `groups` can be read only once.
  const options = { time: IMPORT_HOURS * 3600_000, isRepeatable: false, signal }
  const result = await pool.run(importOn, options).finally(ignoreSignal)
  if ('refused' in result) throw result.refused
  return result.imported
}

/** @param isCommit whether it is not known what was stored if the server does not answer in time. */
function inTime<Result>(work: Promise<Result>, isCommit = false): Promise<Result> {
  const consequence = isCommit ? ', and it is not known whether the books were stored' : ''
  const late = `the database server did not answer within ${STATEMENT_TIME / 1000} seconds${consequence}`
  return withTimeout(work, STATEMENT_TIME, late, isCommit)
}
