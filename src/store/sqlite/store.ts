import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Book, type BookChanges, bookOf, type NewBook, textLength } from '../../catalogue/book.ts'
import { receivedPage, type SentPage } from '../../catalogue/page.ts'
import type { BookFilter, BookQuery, Position } from '../../catalogue/query.ts'
import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  type Page,
  type PageBounds,
  type QueryOptions,
  type Statistics,
  type Store,
  StoreNotOpened,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { makeDirectory } from '../durable-files.ts'
import { startDeadline } from '../timeout.ts'
import { type BookReader, openBookReader } from './book-reader.ts'
import { makeDurable, openConnection } from './connection.ts'
import { describeAccess, describeProblem, isDenied, isLocked } from './errors.ts'
import { importIntoSqlite } from './import.ts'
import type { QueryFunctions, QueryResult, Question } from './query-thread.ts'
import { ensureSchema, isCurrent, schemaVersion } from './schema.ts'
import { ResponseCount, SqliteThreads, ThreadClient } from './threads.ts'
import type { WriterFunctions } from './writer-thread.ts'

/** Milliseconds that a query may take, waiting included: several times what counting a million books takes. */
const QUERY_TIME = 10_000

/** The most unanswered writes, of all threads together. Further ones are refused at once. */
const MAX_WRITES = 5000

/** The most UTF-16 code units of all their texts. */
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
 * Opens or creates the database file, its directory included, and starts its writer.
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
    throw notOpened(path, `its directory cannot be made: ${messageOf(error)}; ${describeAccess(path)}`, error)
  }
  let database: DatabaseSync | undefined
  try {
    database = openConnection(path)
    // Refuses another program's file before anything in it is changed.
    schemaVersion(database)
    makeDurable(database)
    try {
      ensureSchema(database)
    } catch (error) {
      if (onReadOnly === undefined || !isDenied(error) || !isCurrent(database)) throw error
      onReadOnly(messageOf(error) + describeProblem(error, path))
    }
    return new SqliteThreads(path, database, report)
  } catch (error) {
    database?.close()
    if (error instanceof StoreNotOpened) throw error
    const busy = '; another process keeps it locked, or its file system has no locks (docs/configuration.md)'
    const problem = isLocked(error) ? busy : describeProblem(error, path)
    throw notOpened(path, messageOf(error) + problem, error)
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
  const connect = threads.connect.bind(threads)
  return openSqlite({ path, connect, responses: new ResponseCount(), threads: 1, end: () => threads.close() })
}

/** Opens a prepared file for a thread that answers requests. */
export function openSqlite(access: SqliteAccess): Store {
  return new SqliteStore(access)
}

/** Reads books on its own connection. Other threads write, and answer queries. */
class SqliteStore implements Store {
  readonly #path: string
  readonly #responses: ResponseCount
  readonly #books: BookReader
  readonly #writer: ThreadClient<WriterFunctions>
  /** Answers pages without search words, which an index delivers at once. */
  readonly #pages: ThreadClient<QueryFunctions>
  /** Answers searches and counts. */
  readonly #searches: ThreadClient<QueryFunctions>
  readonly #limit: { readonly writes: number; readonly text: number }
  readonly #unanswered = { writes: 0, text: 0, queries: 0 }
  #drained = () => {}
  #lastQuery = 0
  readonly #imports = new Set<Promise<unknown>>()
  readonly #end: SqliteAccess['end']

  constructor({ path, connect, responses, threads, end }: SqliteAccess) {
    this.#path = path
    this.#responses = responses
    this.#books = openBookReader(path, responses)
    this.#writer = new ThreadClient('writer', connect)
    this.#pages = new ThreadClient('pages', connect)
    this.#searches = new ThreadClient('searches', connect)
    this.#end = end
    this.#limit = { writes: MAX_WRITES / threads, text: MAX_TEXT / threads }
  }

  async create(book: NewBook): Promise<Book> {
    const id = await this.#write(textLength(book), 'create', book)
    return bookOf({ ...book, id })
  }

  find(id: number): Promise<Book | undefined> {
    return this.#books.find(id)
  }

  async ready(): Promise<void> {
    await this.#books.find(1)
    await this.#writer.call('probe', !(await hasRoom(this.#path)))
  }

  async page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    const page = this.#books.page(query, after, bounds)
    if (page !== undefined) return page
    const thread = query.filter.words === undefined ? this.#pages : this.#searches
    return receivedPage(
      (await this.#query(thread, { kind: 'page', query, after, bounds }, options)) as SentPage,
    )
  }

  async count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    return (await this.#query(this.#searches, { kind: 'count', filter }, options)) as number
  }

  async statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return (await this.#query(this.#searches, { kind: 'statistics', filter }, options)) as Statistics
  }

  update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined> {
    return this.#write(textLength(changes) + textLength(expected ?? {}), 'update', id, changes, expected)
  }

  delete(id: number, expected?: Book): Promise<boolean> {
    return this.#write(textLength(expected ?? {}), 'delete', id, expected)
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const importing = importIntoSqlite(this.#path, groups, options, this.#writer)
    this.#imports.add(importing)
    try {
      return await importing
    } finally {
      this.#imports.delete(importing)
      this.#responses.add()
    }
  }

  load() {
    const { writes: writes_waiting, queries: queries_waiting } = this.#unanswered
    return { writes_waiting, queries_waiting }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#imports)
    await new Promise<void>((resolve) => {
      this.#drained = resolve
      if (this.#unanswered.writes === 0) resolve()
    })
    await Promise.all([this.#writer, this.#pages, this.#searches].map((thread) => thread.close()))
    await this.#books.close()
    await this.#end?.()
  }

  /**
   * Has a book written. Later reads must be at least as new as the result, even if there is no such book.
   * @param text the length of its texts, in UTF-16 code units.
   * @throws StoreUnavailable, at once if too much is unanswered already.
   */
  async #write<Name extends 'create' | 'update' | 'delete'>(
    text: number,
    name: Name,
    ...args: Parameters<WriterFunctions[Name]>
  ): Promise<Awaited<ReturnType<WriterFunctions[Name]>>> {
    const unanswered = this.#unanswered
    if (unanswered.writes >= this.#limit.writes || unanswered.text + text > this.#limit.text) {
      throw new StoreUnavailable('too many writes are waiting for the disk', {
        reason: 'overload',
        nothingWritten: true,
      })
    }
    unanswered.writes++
    unanswered.text += text
    try {
      return await this.#writer.call(name, ...args)
    } finally {
      this.#responses.add()
      unanswered.text -= text
      if (--unanswered.writes === 0) this.#drained()
    }
  }

  /** Later reads must be at least as new as the result: the query thread has its own connection. */
  async #query(
    thread: ThreadClient<QueryFunctions>,
    question: Question,
    { signal, client = '', onIncomplete }: QueryOptions = {},
  ): Promise<QueryResult> {
    signal?.throwIfAborted()
    const number = ++this.#lastQuery
    const late = () => new StoreUnavailable('the query has taken too long', { reason: 'timeout' })
    const deadline = startDeadline(QUERY_TIME, late, signal)
    this.#unanswered.queries++
    try {
      const answering = thread.call('ask', number, question, client)
      const { result, isIncomplete } = await Promise.race([answering, deadline.passed])
      if (isIncomplete) onIncomplete?.()
      return result
    } finally {
      this.#unanswered.queries--
      this.#responses.add()
      if (deadline.isPassed()) thread.call('cancel', number).catch(() => {})
      deadline.clear()
    }
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

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

function notOpened(path: string, reason: string, cause: unknown): StoreNotOpened {
  return new StoreNotOpened(`the database file ${path} cannot be opened: ${reason}`, { cause })
}
