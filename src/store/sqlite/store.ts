import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { bookOf, textLength } from '../../catalogue/book.ts'
import { receivedPage, type SentPage } from '../../catalogue/page.ts'
import {
  type QueryOptions,
  type Statistics,
  type Store,
  StoreNotOpened,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import { makeDirectory } from '../durable-files.ts'
import { startDeadline } from '../timeout.ts'
import { LIST_BOUNDS, openBookReader } from './book-reader.ts'
import { identityOf, makeDurable, openConnection } from './connection.ts'
import { describeAccess, describeProblem, isDenied, isFull, isLocked } from './errors.ts'
import { importIntoSqlite } from './import.ts'
import type { QueryFunctions, QueryResult, Question } from './query-thread.ts'
import { ensureSchema, isCurrent, schemaVersion } from './schema.ts'
import { ResponseCount, type SqliteThreads, startThreads, ThreadClient } from './threads.ts'
import type { WriterFunctions } from './writer-thread.ts'

/** Milliseconds that a query may take, waiting included: several times what counting a million books takes. */
const QUERY_TIME = 10_000

/** The most unanswered writes of all threads, and UTF-16 code units of their texts. Further ones are refused at once. */
const MAX_WRITES = 5000
const MAX_TEXT = 32 * 1024 * 1024

/** Free bytes with which a disk is certainly not full: more than a few writes need. */
const ROOM = 1024 * 1024

/** How a thread that answers requests reaches the threads that work on a file (threads.ts). */
export interface SqliteAccess {
  readonly path: string
  readonly connect: SqliteThreads['connect']
  /** Shared by all threads that read the file. */
  readonly responses: ResponseCount
  /** The number of threads that answer requests. */
  readonly threads: number
  /** Called after the store was closed. */
  readonly end?: () => Promise<void>
}

/**
 * Opens or creates the database file, its directory included, and starts its writer. A full disk is reported: reads work.
 * @param onReadOnly called with the reason if the file can only be read. Without it, that is an error.
 * @throws StoreNotOpened
 */
export function prepareSqlite(
  path: string,
  report: (message: string) => void,
  onReadOnly?: (reason: string) => void,
): SqliteThreads {
  try {
    makeDirectory(dirname(path))
  } catch (error) {
    throw notOpened(
      path,
      `its directory cannot be made: ${describeError(error)}; ${describeAccess(path)}`,
      error,
    )
  }
  let database: DatabaseSync | undefined
  try {
    database = openConnection(path)
    const opened = identityOf(path)
    // Refuses another program's file before anything in it is changed.
    schemaVersion(database)
    makeDurable(database)
    try {
      ensureSchema(database)
    } catch (error) {
      const onFull = (reason: string) => report(`nothing can be written now: ${reason}`)
      const accept = isFull(error) ? onFull : isDenied(error) ? onReadOnly : undefined
      const version = schemaVersion(database)
      if (accept === undefined || version === 0) throw error
      const reason = describeError(error) + describeProblem(error, path)
      if (!isCurrent(database)) {
        const problem = 'it is of an earlier version and cannot be upgraded; use a copy that can be'
        throw notOpened(path, `${problem}: ${reason}`, error)
      }
      accept(reason)
    }
    return startThreads(path, opened, database, report)
  } catch (error) {
    database?.close()
    if (error instanceof StoreNotOpened) throw error
    const busy = '; another process keeps it locked, or its file system has no locks (docs/configuration.md)'
    const problem = isLocked(error) ? busy : describeProblem(error, path)
    throw notOpened(path, describeError(error) + problem, error)
  }
}

/**
 * Prepares and opens a file that only this thread uses.
 * @param isReadOnly whether a file that can only be read is accepted.
 * @throws StoreNotOpened
 */
export function openSqliteAlone(path: string, report: (message: string) => void, isReadOnly = false): Store {
  const onReadOnly = (reason: string) =>
    report(`this user can only read the file, and cannot run the service on it: ${reason}`)
  const threads = prepareSqlite(path, report, isReadOnly ? onReadOnly : undefined)
  return openSqlite({
    path,
    connect: threads.connect,
    responses: new ResponseCount(),
    threads: 1,
    end: threads.close,
  })
}

/** Opens a prepared file for a thread that answers requests. This reads books itself; other threads do the rest. */
export function openSqlite({ path, connect, responses, threads, end }: SqliteAccess): Store {
  const books = openBookReader(path, responses)
  const opened = identityOf(path)
  const writer = new ThreadClient<WriterFunctions>('writer', connect)
  /** Answers pages without search words, which an index delivers at once. */
  const pages = new ThreadClient<QueryFunctions>('pages', connect)
  /** Answers searches and counts. */
  const searches = new ThreadClient<QueryFunctions>('searches', connect)
  const limit = { writes: MAX_WRITES / threads, text: MAX_TEXT / threads }
  const unanswered = { writes: 0, text: 0, queries: 0 }
  const imports = new Set<Promise<unknown>>()
  let drained = () => {}
  let lastQuery = 0

  /**
   * Has a book written. Later reads must be at least as new as the result, even if there is no such book.
   * @param text the length of its texts, in UTF-16 code units.
   * @throws StoreUnavailable, at once if too much is unanswered already.
   */
  async function write<Name extends 'create' | 'update' | 'delete'>(
    text: number,
    name: Name,
    ...args: Parameters<WriterFunctions[Name]>
  ): Promise<Awaited<ReturnType<WriterFunctions[Name]>>> {
    if (unanswered.writes >= limit.writes || unanswered.text + text > limit.text) {
      throw new StoreUnavailable('too many writes are waiting for the disk', {
        reason: 'overload',
        nothingWritten: true,
      })
    }
    unanswered.writes++
    unanswered.text += text
    try {
      return await writer.call(name, ...args)
    } finally {
      responses.add()
      unanswered.text -= text
      if (--unanswered.writes === 0) drained()
    }
  }

  /** Later reads must be at least as new as the result: the query thread has its own connection. */
  async function query(
    thread: ThreadClient<QueryFunctions>,
    question: Question,
    { signal, client = '', onIncomplete }: QueryOptions = {},
  ): Promise<QueryResult> {
    signal?.throwIfAborted()
    const number = ++lastQuery
    const late = () => new StoreUnavailable('the query has taken too long', { reason: 'timeout' })
    const deadline = startDeadline(QUERY_TIME, late, signal)
    unanswered.queries++
    try {
      const answering = thread.call('ask', number, question, client)
      const { result, isIncomplete } = await Promise.race([answering, deadline.passed])
      if (isIncomplete) onIncomplete?.()
      return result
    } finally {
      unanswered.queries--
      responses.add()
      if (deadline.isPassed()) thread.call('cancel', number).catch(() => {})
      deadline.clear()
    }
  }

  return {
    async create(book) {
      const id = await write(textLength(book), 'create', book)
      return bookOf({ ...book, id })
    },

    find: books.find,

    listBounds: LIST_BOUNDS,

    async ready() {
      await books.find(1)
      await writer.call('probe', !(await hasRoom(path)))
    },

    async page(asked, after, bounds, options) {
      const page = books.page(asked, after, bounds)
      if (page !== undefined) return page
      const thread = asked.filter.words === undefined ? pages : searches
      const sent = await query(thread, { kind: 'page', query: asked, after, bounds }, options)
      return receivedPage(sent as SentPage)
    },

    count: async (filter, options) => (await query(searches, { kind: 'count', filter }, options)) as number,

    statistics: async (filter, options) =>
      (await query(searches, { kind: 'statistics', filter }, options)) as Statistics,

    update: (id, changes, expected) =>
      write(textLength(changes) + textLength(expected ?? {}), 'update', id, changes, expected),

    delete: (id, expected) => write(textLength(expected ?? {}), 'delete', id, expected),

    async import(groups, options = {}) {
      const importing = importIntoSqlite(path, opened, groups, options, writer)
      imports.add(importing)
      try {
        return await importing
      } finally {
        imports.delete(importing)
        responses.add()
      }
    },

    load: () => ({ writes_waiting: unanswered.writes, queries_waiting: unanswered.queries }),

    async close() {
      await Promise.allSettled(imports)
      await new Promise<void>((resolve) => {
        drained = resolve
        if (unanswered.writes === 0) resolve()
      })
      await Promise.all([writer, pages, searches].map((thread) => thread.close()))
      await books.close()
      await end?.()
    },
  }
}

/** Whether the file may be written and its disk has room, as far as the system says. */
async function hasRoom(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK)
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize >= ROOM
  } catch {
    return false
  }
}

function notOpened(path: string, reason: string, cause: unknown): StoreNotOpened {
  return new StoreNotOpened(`the database file ${path} cannot be opened: ${reason}`, { cause })
}
