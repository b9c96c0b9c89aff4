/**
 * A thread that answers queries, so that one that takes long keeps no other request waiting. Each message is a question;
 * it is answered with what was asked for, or with 'behind' if the index can soon be brought up to date.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { BookFilter, BookQuery, Position } from '../../catalogue/query.ts'
import type { Page, PageBounds, Statistics } from '../../catalogue/store.ts'
import { openConnection } from './connection.ts'
import { IS_WANTED } from './dialect.ts'
import { asFailed, type Failed } from './failure.ts'
import { countBooks, indexState, readSqlitePage, readSqliteStatistics } from './query.ts'

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
  /**
   * The index that it takes: the current one, unless that is far behind; or the one that there is. None where it is
   * known to be good enough, or is not needed.
   */
  readonly index: 'current' | 'as it is' | 'none'
  /** Shared memory; not 0 once nobody waits for the answer any more. */
  readonly abandoned: Int32Array
}

export type ReaderAnswer = Answered | 'behind' | Failed

interface Answered {
  readonly result: Page | Statistics | number
  /** Whether the index was behind: then the keys were made of the books, and words of the last writes were not found. */
  readonly isBehind: boolean
}

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
async function answer({ question, index, ...message }: ReaderMessage): Promise<ReaderAnswer> {
  abandoned = message.abandoned
  try {
    database.exec('BEGIN')
    const state = index === 'none' ? 'current' : indexState(database)
    if (index === 'current' && state === 'behind') return 'behind'
    const isBehind = state !== 'current'
    return { result: await resultOf(question, isBehind), isBehind }
  } catch (error) {
    return asFailed(error)
  } finally {
    if (database.isTransaction) database.exec('COMMIT')
  }
}

function resultOf(question: Question, isBehind: boolean): Promise<Page | Statistics> | number {
  if (question.kind === 'count') return countBooks(database, question.filter, isBehind)
  if (question.kind === 'statistics') return readSqliteStatistics(database, question.filter, isBehind)
  const { query, after, bounds } = question
  return readSqlitePage(database, query, after, bounds, isBehind)
}

parentPort?.on('message', async (message: ReaderMessage | null) => {
  if (message !== null) return parentPort?.postMessage(await answer(message))
  database.close()
  parentPort?.close()
})
