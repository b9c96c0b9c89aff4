/**
 * A thread that answers queries, so a long one blocks no other request. It answers each question with the result, with
 * 'behind' if the index can soon be brought up to date, or with 'too long'.
 */
import { type SentPage, sentPage } from '../../catalogue/page.ts'
import type { BookFilter, BookQuery, Position, SortName } from '../../catalogue/query.ts'
import { wordsOfBook } from '../../catalogue/search-words.ts'
import { sortKey } from '../../catalogue/sort-key.ts'
import type { PageBounds, Statistics } from '../../catalogue/store.ts'
import { openConnection } from './connection.ts'
import { HAS_WORDS, IS_WANTED, SORT_KEY } from './dialect.ts'
import {
  CREATE_ENTRIES,
  countBooks,
  indexState,
  type QueryContext,
  readSqlitePage,
  readSqliteStatistics,
  scanPrefixes,
} from './query.ts'
import { KeptStatements } from './statements.ts'
import { databasePath, isAbandoned, serveRequests } from './worker.ts'

export type Question =
  | { readonly kind: 'count'; readonly filter: BookFilter }
  | { readonly kind: 'statistics'; readonly filter: BookFilter }
  | {
      readonly kind: 'page'
      readonly query: BookQuery
      readonly after: Position | undefined
      readonly bounds: PageBounds
    }

export interface ReaderRequest {
  readonly question: Question
  /**
   * The index that it needs: 'current', unless that is far behind, or 'as it is'. 'none' means that the index is known
   * to be good enough, or is not needed.
   */
  readonly index: 'current' | 'as it is' | 'none'
  /** How many rows it may read. Infinity means that only time is limited. */
  readonly rows: number
}

export type ReaderAnswer = Answered | 'behind' | 'too long'

export type QueryResult = SentPage | Statistics | number

interface Answered {
  readonly result: QueryResult
  /** Whether the index was behind. Then the keys came from the books, and words of the last writes were not found. */
  readonly isBehind: boolean
}

const connection = openConnection(databasePath)
const database = new KeptStatements(connection)
connection.exec(`${CREATE_ENTRIES}; PRAGMA query_only = ON`)

/** How many rows the current question may still read. */
let rowsLeft = 0
// node:sqlite cannot interrupt a statement, but a user-defined function can make it fail.
connection.function(IS_WANTED, () => {
  if (isAbandoned()) throw new Error('the query was given up')
  rowsLeft--
  if (rowsLeft < 0) throw new Error('the query looks at too many rows')
  return 1
})

connection.function(SORT_KEY, { deterministic: true }, (name, text) =>
  sortKey(name as SortName, String(text)),
)

connection.function(HAS_WORDS, { deterministic: true }, (title, author, words) => {
  const has = new Set(wordsOfBook({ title: String(title), author: String(author) }))
  return Number(
    String(words)
      .split(' ')
      .every((word) => has.has(word)),
  )
})

/** The statements of an answer share a transaction, so they see the same books. */
async function answer({ question, index, rows }: ReaderRequest): Promise<ReaderAnswer> {
  rowsLeft = rows
  try {
    database.prepare('BEGIN').run()
    const state = index === 'none' ? 'current' : indexState(database)
    if (index === 'current' && state === 'behind') return 'behind'
    const isBehind = state !== 'current'
    const isLimited = rows < Number.POSITIVE_INFINITY
    const beforeLookUp = isLimited ? (words: readonly string[]) => scanPrefixes(database, words) : undefined
    return { result: await resultOf(question, { isBehind, beforeLookUp }), isBehind }
  } catch (error) {
    database.forgetLast()
    if (rowsLeft < 0) return 'too long'
    throw error
  } finally {
    if (connection.isTransaction) database.prepare('COMMIT').run()
  }
}

async function resultOf(question: Question, context: QueryContext): Promise<QueryResult> {
  if (question.kind === 'count') return countBooks(database, question.filter, context)
  if (question.kind === 'statistics') return readSqliteStatistics(database, question.filter, context)
  const { query, after, bounds } = question
  return sentPage(await readSqlitePage(database, query, after, bounds, context))
}

serveRequests({ answer, end: () => connection.close() })
