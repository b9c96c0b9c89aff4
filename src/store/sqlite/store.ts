import { access, constants, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Book, type BookChanges, bookOf, type NewBook } from '../../catalogue/book.ts'
import { receivedPage, type SentPage } from '../../catalogue/page.ts'
import { type BookFilter, type BookQuery, idOrder, type Position } from '../../catalogue/query.ts'
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
} from '../../catalogue/store.ts'
import { makeDirectory } from '../durable-files.ts'
import { isTrueWithin } from '../timeout.ts'
import { SqliteBookReader } from './book-reader.ts'
import { isDenied, isLocked, makeDurable, openConnection } from './connection.ts'
import type { Write, WrittenBook } from './group-commit.ts'
import { importIntoSqlite } from './import.ts'
import { describeAccess, describeProblem } from './problem.ts'
import type { QueryResult, Question } from './query-thread.ts'
import { QueryTooLong, SqliteReader } from './reader.ts'
import { ensureSchema, isCurrent, schemaVersion } from './schema.ts'
import { AnswerCount } from './shared-read.ts'
import { SqliteWriter } from './writer.ts'

/** How long a query waits for its turn and for the index, in milliseconds. */
const WAIT_TIME = 4000

/**
 * Limits of the first attempt at a query. Most queries need a fraction of them. The rows are some 20 milliseconds of
 * work. The time, in milliseconds, allows for slow disks and very long texts. If it were short, every query would count
 * as long on a busy machine.
 */
const SHORT = { rows: 20_000, time: 1000 }

/** How long a query may run, in milliseconds: several times what it takes to count a million books. */
const RUN_TIME = 10_000

/** Bytes free on a disk that is certainly not full: more than a few writes need. */
const ROOM = 1024 * 1024

/**
 * Opens or creates the database file, its directory included.
 * @param path relative to the working directory, or absolute.
 * @param answers for other threads that read the file.
 * @param onReadOnly is told why the file can only be read. Without it, that is an error.
 * @throws StoreNotOpened
 */
export function openSqlite(
  path: string,
  answers = new AnswerCount(),
  onReadOnly?: (reason: string) => void,
): Store {
  try {
    makeDirectory(dirname(path))
  } catch (error) {
    throw notOpened(path, `its directory cannot be made: ${messageOf(error)}; ${describeAccess(path)}`, error)
  }
  let database: DatabaseSync | undefined
  try {
    database = openConnection(path)
    // Refuses another program's file before anything in it changes.
    schemaVersion(database)
    makeDurable(database)
    try {
      ensureSchema(database)
    } catch (error) {
      if (onReadOnly === undefined || !isDenied(error) || !isCurrent(database)) throw error
      onReadOnly(messageOf(error) + describeProblem(error, path))
    }
    return new SqliteStore(database, path, answers)
  } catch (error) {
    database?.close()
    if (error instanceof StoreNotOpened) throw error
    const busy = '; another process keeps it locked, or its file system has no locks (docs/configuration.md)'
    const problem = isLocked(error) ? busy : describeProblem(error, path)
    throw notOpened(path, messageOf(error) + problem, error)
  }
}

/** Reads books with its own connection. The writer does all writes. */
class SqliteStore implements Store {
  readonly #books: SqliteBookReader
  readonly #writer: SqliteWriter
  /** Answers pages without words: an index gives them at once. */
  readonly #pages: SqliteReader
  /** Answers searches and counts. */
  readonly #searches: SqliteReader
  /** Answers queries that took the others too long. */
  readonly #longQueries: SqliteReader
  readonly #path: string
  readonly #answers: AnswerCount
  #indexing: Promise<void> | undefined
  readonly #imports = new Set<Promise<unknown>>()

  /** @param path of the database file, for the writer. It starts last, when nothing can fail any more. */
  constructor(database: DatabaseSync, path: string, answers: AnswerCount) {
    this.#path = path
    this.#answers = answers
    this.#books = new SqliteBookReader(database, answers)
    this.#writer = new SqliteWriter(path)
    this.#pages = new SqliteReader(path, SHORT.time, SHORT.rows)
    this.#searches = new SqliteReader(path, SHORT.time, SHORT.rows)
    this.#longQueries = new SqliteReader(path, RUN_TIME)
  }

  async create(book: NewBook): Promise<Book> {
    const written = await this.#write({ kind: 'create', book })
    if (written === undefined) throw new Error('INSERT gave no id')
    return bookOf({ ...book, id: written.id })
  }

  find(id: number): Promise<Book | undefined> {
    return this.#books.find(id)
  }

  async ready(): Promise<void> {
    await this.#books.ready()
    await this.#writer.ready(!(await hasRoom(this.#path)))
  }

  async page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    const page = this.#books.page(query, after, bounds)
    if (page !== undefined) return page
    const question = { kind: 'page', query, after, bounds } as const
    const reader = query.filter.words === undefined ? this.#pages : this.#searches
    const needsIndex = idOrder(query) === undefined
    return receivedPage((await this.#query(reader, question, needsIndex, options)) as SentPage)
  }

  async count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    const needsIndex = Object.keys(filter).length > 0
    return (await this.#query(this.#searches, { kind: 'count', filter }, needsIndex, options)) as number
  }

  async statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return (await this.#query(this.#searches, { kind: 'statistics', filter }, true, options)) as Statistics
  }

  async update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined> {
    return (await this.#write({ kind: 'update', id, changes, expected })) as Book | undefined
  }

  async delete(id: number, expected?: Book): Promise<boolean> {
    return (await this.#write({ kind: 'delete', id, expected })) !== undefined
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const importing = importIntoSqlite(this.#path, groups, options, () => this.#writer.hold())
    this.#imports.add(importing)
    try {
      return await importing
    } finally {
      this.#imports.delete(importing)
      this.#answers.add()
    }
  }

  load() {
    const queries_waiting = this.#readers.reduce((sum, { waiting }) => sum + waiting, 0)
    return { ...this.#writer.load(), queries_waiting }
  }

  /** The last connection to close moves the write-ahead log into the file. A writer that died might not. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#imports)
    await Promise.all([this.#writer, ...this.#readers].map((each) => each.close()))
    await this.#books.close()
  }

  /** Later reads must be at least as new as the answer, even if it says that there is no such book. */
  async #write(write: Write): Promise<WrittenBook | undefined> {
    try {
      return await this.#writer.write(write)
    } finally {
      this.#answers.add()
    }
  }

  get #readers(): SqliteReader[] {
    return [this.#pages, this.#searches, this.#longQueries]
  }

  /** Restarts a long query on another thread, so short queries do not wait for it. */
  async #query(
    reader: SqliteReader,
    question: Question,
    needsIndex: boolean,
    options?: QueryOptions,
  ): Promise<QueryResult> {
    try {
      return await this.#ask(reader, question, needsIndex, options)
    } catch (error) {
      if (!(error instanceof QueryTooLong)) throw error
      return await this.#ask(this.#longQueries, question, needsIndex, options)
    }
  }

  /** As after `#write`, because the thread that answers has its own connection. */
  async #ask(
    reader: SqliteReader,
    question: Question,
    needsIndex: boolean,
    { signal, client, onIncomplete }: QueryOptions = {},
  ): Promise<QueryResult> {
    const end = Date.now() + WAIT_TIME
    try {
      let answer = await reader.ask(question, needsIndex ? 'current' : 'none', WAIT_TIME, signal, client)
      if (answer === 'behind') {
        // If the index cannot catch up, as on a full disk, it still answers with what it has.
        const following = this.#writer.index().then(
          () => true,
          () => false,
        )
        const isIndexed = await isTrueWithin(following, end - Date.now(), signal)
        answer = await reader.ask(question, isIndexed ? 'none' : 'as it is', WAIT_TIME, signal, client)
      }
      if (answer === 'behind') throw new Error('a question was not answered')
      if (answer.isBehind) {
        const { words } = question.kind === 'page' ? question.query.filter : question.filter
        if (words !== undefined) onIncomplete?.()
        this.#index()
      }
      return answer.result
    } finally {
      this.#answers.add()
    }
  }

  /** Updates the index in the background. An error recurs for a query that waits for it. */
  #index(): void {
    this.#indexing ??= this.#writer
      .index()
      .catch(() => {})
      .finally(() => {
        this.#indexing = undefined
      })
  }
}

/** Whether the file may be written, and its disk is not full, as far as the system says. */
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
