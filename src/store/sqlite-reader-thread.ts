/**
 * A thread that answers queries, so that one that takes long keeps no other request waiting. Each message is a question;
 * it is answered with what was asked for, or with 'behind' if the index has first to be brought up to date.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { BookFilter, BookQuery, Position } from '../book-query.ts'
import { openConnection } from './sqlite-connection.ts'
import { IS_WANTED } from './sqlite-dialect.ts'
import { asFailed, type Failed } from './sqlite-failure.ts'
import { countBooks, isIndexBehind, readSqlitePage, readSqliteStatistics } from './sqlite-query.ts'
import type { Page, PageBounds, Statistics } from './store.ts'

export type Question =
  | { readonly kind: 'count'; readonly filter: BookFilter }
  | { readonly kind: 'statistics'; readonly filter: BookFilter }
  | {
      readonly kind: 'page'
      readonly query: BookQuery
      readonly after: Position | undefined
      readonly bounds: PageBounds
    }

export interface ReaderMessage {
  readonly question: Question
  /** Whether the index is known to be good enough, or is not needed. */
  readonly isIndexed: boolean
  /** Shared memory; not 0 once nobody waits for the answer any more. */
  readonly abandoned: Int32Array
}

export type ReaderAnswer = { readonly result: Page | Statistics | number } | 'behind' | Failed

const database = openConnection(workerData)
database.exec('PRAGMA query_only = ON')

/** Of the question that is being answered. */
let abandoned: Int32Array = new Int32Array(1)
// node:sqlite has no way to interrupt a statement, but a function of ours can make it fail.
database.function(IS_WANTED, () => {
  if (Atomics.load(abandoned, 0) !== 0) throw new Error('the query was given up')
  return 1
})

/** In one transaction, so that all statements of an answer see the same books. */
async function answer({ question, isIndexed, ...message }: ReaderMessage): Promise<ReaderAnswer> {
  abandoned = message.abandoned
  try {
    database.exec('BEGIN')
    if (!isIndexed && isIndexBehind(database)) return 'behind'
    if (question.kind === 'count') return { result: countBooks(database, question.filter) }
    if (question.kind === 'statistics')
      return { result: await readSqliteStatistics(database, question.filter) }
    const { query, after, bounds } = question
    return { result: await readSqlitePage(database, query, after, bounds) }
  } catch (error) {
    return asFailed(error)
  } finally {
    if (database.isTransaction) database.exec('COMMIT')
  }
}

parentPort?.on('message', async (message: ReaderMessage | null) => {
  if (message !== null) return parentPort?.postMessage(await answer(message))
  database.close()
  parentPort?.close()
})
