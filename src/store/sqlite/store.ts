import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
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
} from '../../catalogue/store.ts'
import { makeDirectory } from '../durable-files.ts'
import { isTrueWithin } from '../timeout.ts'
import { makeDurable, openConnection } from './connection.ts'
import { attempt } from './failure.ts'
import type { Row, Write } from './group-commit.ts'
import { importIntoSqlite } from './import.ts'
import { SqliteList } from './list.ts'
import { needsIndex } from './query.ts'
import type { Question } from './query-thread.ts'
import { QueryTooLong, SqliteReader } from './reader.ts'
import { ensureSchema, schemaVersion } from './schema.ts'
import { SqliteSnapshot } from './shared-read.ts'
import { SqliteWriter } from './writer.ts'

/** How long a query waits in all, for its turn and for an index that is not far behind, in milliseconds. */
const WAIT_TIME = 4000

/** How long the first attempt at a query may run, in milliseconds. Most need a fraction of it. */
const SHORT_TIME = 100

/** How long a query may run, in milliseconds: several times what it takes to count a million books. */
const RUN_TIME = 10_000

/**
 * Opens or creates the database file, its directory included.
 * @param path relative to the working directory, or absolute.
 * @throws StoreNotOpened
 */
export function openSqlite(path: string): Store {
  try {
    makeDirectory(dirname(path))
  } catch (error) {
    throw notOpened(path, 'its directory cannot be made', error)
  }
  let database: DatabaseSync | undefined
  try {
    database = openConnection(path)
    // Refuses a file that is not ours before anything is changed in it.
    schemaVersion(database)
    makeDurable(database)
    ensureSchema(database)
    database.exec('PRAGMA query_only = ON')
    return new SqliteStore(database, path)
  } catch (error) {
    database?.close()
    if (error instanceof StoreNotOpened) throw error
    throw notOpened(path, undefined, error)
  }
}

/** Reads with a connection of its own, which in WAL mode never waits for the writer, and leaves writes to that. */
class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #writer: SqliteWriter
  /** Answers pages without words: an index gives them at once. */
  readonly #pages: SqliteReader
  /** Answers searches and counts. */
  readonly #searches: SqliteReader
  /** Answers what took the others too long. */
  readonly #longQueries: SqliteReader
  readonly #path: string
  readonly #snapshot: SqliteSnapshot
  #indexing: Promise<void> | undefined
  readonly #imports = new Set<Promise<unknown>>()
  readonly #select: StatementSync
  readonly #list: SqliteList

  /** @param path of the database's file, for the writer, which starts when nothing can fail any more. */
  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = path
    this.#snapshot = new SqliteSnapshot(database)
    this.#select = database.prepare('SELECT id, title, author, year FROM books WHERE id = ?')
    this.#list = new SqliteList(database)
    this.#writer = new SqliteWriter(path)
    this.#pages = new SqliteReader(path, SHORT_TIME)
    this.#searches = new SqliteReader(path, SHORT_TIME)
    this.#longQueries = new SqliteReader(path, RUN_TIME)
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const row = await this.#write({ kind: 'create', title, author, year })
    if (row === undefined) throw new Error('INSERT gave no id')
    // As it is read back: −0 is stored as 0.
    return { id: row.id, title, author, year: year + 0 }
  }

  async find(id: number): Promise<Book | undefined> {
    return attempt(() => {
      this.#snapshot.begin()
      return this.#select.get(id) as Book | undefined
    })
  }

  list(format: 'json' | 'csv' = 'json'): AsyncIterable<string> {
    return this.#list.pages(format)
  }

  async page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    const question = { kind: 'page', query, after, bounds } as const
    const reader = query.filter.words === undefined ? this.#pages : this.#searches
    return (await this.#query(reader, question, needsIndex(query), options)) as Page
  }

  async count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    const needsIndex = Object.keys(filter).length > 0
    return (await this.#query(this.#searches, { kind: 'count', filter }, needsIndex, options)) as number
  }

  async statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return (await this.#query(this.#searches, { kind: 'statistics', filter }, true, options)) as Statistics
  }

  async update(id: number, { title, author, year }: BookChanges, expected?: Book): Promise<Book | undefined> {
    const changes = { title: title ?? null, author: author ?? null, year: year ?? null }
    return (await this.#write({ kind: 'update', id, ...changes, expected })) as Book | undefined
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
      this.#snapshot.end()
    }
  }

  load() {
    const queries_waiting = this.#readers.reduce((sum, { waiting }) => sum + waiting, 0)
    return { ...this.#writer.load(), queries_waiting }
  }

  /** The last connection that closes brings the write-ahead log into the file; a writer that died might not. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#imports)
    await Promise.all([this.#writer, ...this.#readers].map((each) => each.close()))
    this.#database.close()
  }

  /** What is read after the answer has to be at least as new, also where the answer is that there is no such book. */
  async #write(write: Write): Promise<Row | undefined> {
    try {
      return await this.#writer.write(write)
    } finally {
      this.#snapshot.end()
    }
  }

  get #readers(): SqliteReader[] {
    return [this.#pages, this.#searches, this.#longQueries]
  }

  /** Begins anew on another thread what takes long, so that a short query waits for no long one. */
  async #query(
    reader: SqliteReader,
    question: Question,
    needsIndex: boolean,
    options?: QueryOptions,
  ): Promise<Page | Statistics | number> {
    try {
      return await this.#ask(reader, question, needsIndex, options)
    } catch (error) {
      if (!(error instanceof QueryTooLong)) throw error
      return await this.#ask(this.#longQueries, question, needsIndex, options)
    }
  }

  /** As after `#write`, for the thread that answers has a connection of its own. */
  async #ask(
    reader: SqliteReader,
    question: Question,
    needsIndex: boolean,
    { signal, onIncomplete }: QueryOptions = {},
  ): Promise<Page | Statistics | number> {
    const end = Date.now() + WAIT_TIME
    try {
      let answer = await reader.ask(question, needsIndex ? 'current' : 'none', WAIT_TIME, signal)
      if (answer === 'behind') {
        // An index that cannot follow, as on a full disk, is no reason to refuse what it has.
        const following = this.#writer.index().then(
          () => true,
          () => false,
        )
        const isIndexed = await isTrueWithin(following, end - Date.now(), signal)
        answer = await reader.ask(question, isIndexed ? 'none' : 'as it is', WAIT_TIME, signal)
      }
      if (answer === 'behind') throw new Error('a question was not answered')
      if (answer.isBehind) {
        const { words } = question.kind === 'page' ? question.query.filter : question.filter
        if (words !== undefined) onIncomplete?.()
        this.#index()
      }
      return answer.result
    } finally {
      this.#snapshot.end()
    }
  }

  /** Has the index follow, for nobody who waits. What fails fails again for a query that does. */
  #index(): void {
    this.#indexing ??= this.#writer
      .index()
      .catch(() => {})
      .finally(() => {
        this.#indexing = undefined
      })
  }
}

function notOpened(path: string, what: string | undefined, error: unknown): StoreNotOpened {
  const reason = error instanceof Error ? error.message : String(error)
  const words = what === undefined ? reason : `${what}: ${reason}`
  return new StoreNotOpened(`the database file ${path} cannot be opened: ${words}`, { cause: error })
}
