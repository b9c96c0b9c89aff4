/**
 * A thread that answers queries, one at a time, so that they never block the threads that answer requests. The clients
 * take turns, and the queries of each are answered in the order of arrival.
 */
import { type SentPage, sentPage } from '../../catalogue/page.ts'
import { type BookFilter, type BookQuery, idOrder, type Position } from '../../catalogue/query.ts'
import { type PageBounds, type Statistics, StoreUnavailable } from '../../catalogue/store.ts'
import { FairQueue } from '../fair-queue.ts'
import { isTrueWithin } from '../timeout.ts'
import { openAgain, statementCache } from './connection.ts'
import { addFunctions } from './dialect.ts'
import { countBooks, indexState, readSqlitePage, readSqliteStatistics } from './query.ts'
import { opened, path, receiveNow, serve } from './serve.ts'
import { ThreadClient } from './threads.ts'
import type { WriterFunctions } from './writer-thread.ts'

export type Question =
  | { readonly kind: 'count'; readonly filter: BookFilter }
  | { readonly kind: 'statistics'; readonly filter: BookFilter }
  | {
      readonly kind: 'page'
      readonly query: BookQuery
      readonly after: Position | undefined
      readonly bounds: PageBounds
    }

export type QueryResult = SentPage | Statistics | number

export type QueryFunctions = ReturnType<typeof client>['functions']

interface QueryAnswer {
  readonly result: QueryResult
  /** Whether to call `QueryOptions.onIncomplete`. */
  readonly isIncomplete: boolean
}

const MAX_WAITING = 1000

/** Milliseconds that a query waits for the index. */
const INDEX_TIME = 4000

/** Rows after which the thread looks for messages that cancel a query: about a millisecond of work. */
const ROWS = 1000

interface Query extends PromiseWithResolvers<QueryAnswer> {
  readonly question: Question
  readonly client: string
  /**
   * The state of the index that it needs. With 'current', it waits if the index is a little behind; with 'as it is', it
   * does not wait. 'none' means that the index is known to be current, or is not needed.
   */
  index: 'current' | 'as it is' | 'none'
  isCancelled: boolean
}

const connection = openAgain(path, opened)
const database = statementCache(connection)
connection.exec('PRAGMA query_only = ON')

const waiting = new FairQueue<Query>(MAX_WAITING)
let running: Query | undefined
let isScheduled = false
let rows = 0
let isFollowing = false
let isEnding = false

// node:sqlite cannot interrupt a statement, but a user-defined function can make it fail.
addFunctions(connection, () => {
  if (++rows % ROWS === 0) receiveNow()
  if (running?.isCancelled || isEnding) throw cancelled()
  return 1
})

function client() {
  const asked = new Map<number, Query>()
  const functions = {
    /** @param number for `cancel`. */
    async ask(number: number, question: Question, client: string): Promise<QueryAnswer> {
      const index = needsIndex(question) ? 'current' : 'none'
      const query: Query = { question, client, index, isCancelled: false, ...Promise.withResolvers() }
      asked.set(number, query)
      answerInTurn(query)
      return await query.promise.finally(() => asked.delete(number))
    },
    cancel(number: number) {
      const query = asked.get(number)
      if (query !== undefined) query.isCancelled = true
    },
  }
  return { functions }
}

function answerInTurn(query: Query): void {
  waiting.add(query)?.reject(new StoreUnavailable('too many queries are waiting', { reason: 'overload' }))
  answerSoon()
}

/** Waits for the messages of this turn of the event loop, which may bring queries of other clients or cancel one. */
function answerSoon(): void {
  if (isScheduled || waiting.size === 0) return
  isScheduled = true
  setImmediate(async () => {
    running = waiting.take()
    if (running !== undefined) await answer(running).catch(running.reject)
    running = undefined
    isScheduled = false
    answerSoon()
  })
}

/** The statements of a query share a transaction, so they see the same books. */
async function answer(query: Query): Promise<void> {
  if (query.isCancelled || isEnding) throw cancelled()
  const { question, index } = query
  try {
    database.prepare('BEGIN').run()
    const state = index === 'none' ? 'current' : indexState(database)
    if (index === 'current' && state === 'behind') {
      void answerWhenIndexed(query)
      return
    }
    const isBehind = state !== 'current'
    if (isBehind) follow()
    const { words } = question.kind === 'page' ? question.query.filter : question.filter
    const result = await resultOf(question, isBehind)
    query.resolve({ result, isIncomplete: isBehind && words !== undefined })
  } catch (error) {
    // In node:sqlite, a statement that fails during iteration fails the next time, too.
    database.clear()
    throw error
  } finally {
    if (connection.isTransaction) database.prepare('COMMIT').run()
  }
}

/** If the index cannot catch up, as on a full disk, the query is answered from the index as it is. */
async function answerWhenIndexed(query: Query): Promise<void> {
  const indexing = writer.call('index').then(
    () => true,
    () => false,
  )
  query.index = (await isTrueWithin(indexing, INDEX_TIME)) ? 'none' : 'as it is'
  answerInTurn(query)
}

/** Has the index updated in the background. An error is ignored: it recurs for a query that waits for the index. */
function follow(): void {
  if (isFollowing) return
  isFollowing = true
  writer
    .call('index')
    .catch(() => {})
    .finally(() => {
      isFollowing = false
    })
}

async function resultOf(question: Question, isBehind: boolean): Promise<QueryResult> {
  if (question.kind === 'count') return countBooks(database, question.filter, isBehind)
  if (question.kind === 'statistics') return readSqliteStatistics(database, question.filter, isBehind)
  const { query, after, bounds } = question
  return sentPage(await readSqlitePage(database, query, after, bounds, isBehind))
}

function needsIndex(question: Question): boolean {
  if (question.kind === 'count') return Object.keys(question.filter).length > 0
  return question.kind === 'statistics' || idOrder(question.query) === undefined
}

const cancelled = () => new Error('the query was cancelled')

/** Cancels all queries, waiting and running. */
async function end(): Promise<void> {
  isEnding = true
  // The running query ends in this turn of the event loop.
  await new Promise(setImmediate)
  connection.close()
}

const parent = serve(client, end)
const writer = new ThreadClient<WriterFunctions>('writer', (kind) => parent.call('connect', kind))
