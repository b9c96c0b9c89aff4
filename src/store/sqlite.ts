import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Book, BookChanges, NewBook } from '../book.ts'
import type { BookFilter, BookQuery, Position } from '../book-query.ts'
import { csvLine } from '../csv.ts'
import { within } from './deadline.ts'
import { makeDirectory } from './files.ts'
import { makeDurable, openConnection } from './sqlite-connection.ts'
import { attempt } from './sqlite-failure.ts'
import type { Row, Write } from './sqlite-group-commit.ts'
import { importIntoSqlite } from './sqlite-import.ts'
import { needsIndex } from './sqlite-query.ts'
import { SqliteReader } from './sqlite-reader.ts'
import type { Question } from './sqlite-reader-thread.ts'
import { ensureSchema, schemaVersion } from './sqlite-schema.ts'
import { SqliteSnapshot } from './sqlite-snapshot.ts'
import { SqliteWriter } from './sqlite-writer.ts'
import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  type Page,
  type PageBounds,
  type Statistics,
  type Store,
  StoreNotOpened,
} from './store.ts'
import { PART } from './walk.ts'

/** The first page of the list is smaller than the others. */
const FIRST_PAGE_BOOKS = 128

/** How long a query waits for the index, in milliseconds. The many books of an earlier release may take longer. */
const INDEX_TIME = 4000

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

/** Books of a list as text. */
interface Part {
  readonly content: string
  /** The id of the last book, and how many there are. */
  readonly last: number
  readonly books: number
}

type ReadPart = (after: number, books: number) => Part | undefined

/** How far a list has come. */
interface Progress {
  /** The id of the last book so far. */
  after: number
  /** Books that the next page may have. */
  limit: number
  isAtEnd: boolean
}

/** Reads with a connection of its own, which in WAL mode never waits for the writer, and leaves writes to that. */
class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #writer: SqliteWriter
  readonly #reader: SqliteReader
  readonly #path: string
  readonly #snapshot: SqliteSnapshot
  readonly #imports = new Set<Promise<unknown>>()
  readonly #select: StatementSync
  readonly #measure: StatementSync
  readonly #selectJson: StatementSync
  readonly #selectRows: StatementSync

  /** @param path of the database's file, for the writer, which starts when nothing can fail any more. */
  constructor(database: DatabaseSync, path: string) {
    this.#database = database
    this.#path = path
    this.#snapshot = new SqliteSnapshot(database)
    this.#select = database.prepare('SELECT id, title, author, year FROM books WHERE id = ?')
    const next = 'FROM (SELECT * FROM books WHERE id > ? ORDER BY id LIMIT ?)'
    this.#measure = database.prepare(
      `SELECT total(octet_length(title) + octet_length(author)) AS text ${next}`,
    )
    // SQLite writes the JSON of a whole page: a third of the time and of the memory of an object per book.
    this.#selectJson = database.prepare(`
      SELECT count(*) AS books, max(id) AS last,
        group_concat(json_object('id', id, 'title', title, 'author', author, 'year', year)) AS json ${next}`)
    // Half the time of objects, and less than SQLite takes to quote what needs it.
    this.#selectRows = database.prepare(
      'SELECT id, title, author, year FROM books WHERE id > ? ORDER BY id LIMIT ?',
    )
    this.#selectRows.setReturnArrays(true)
    this.#writer = new SqliteWriter(path)
    this.#reader = new SqliteReader(path)
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

  list(pages: 'json' | 'csv' = 'json'): AsyncIterable<string> {
    const read: ReadPart =
      pages === 'csv' ? (after, books) => this.#csv(after, books) : (after, books) => this.#json(after, books)
    const progress: Progress = { after: 0, limit: FIRST_PAGE_BOOKS, isAtEnd: false }
    // No generator: while it waits to be asked for the next page it would keep the last, and so bring it into V8's old
    // generation, where it stays until a full collection.
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      const value = this.#advance(progress, read)
      return value === undefined ? { done: true, value } : { done: false, value }
    }
    return { [Symbol.asyncIterator]: () => ({ next }) }
  }

  async page(query: BookQuery, after: Position | undefined, bounds: PageBounds): Promise<Page> {
    const question = { kind: 'page', query, after, bounds } as const
    return (await this.#ask(question, !needsIndex(query))) as Page
  }

  async count(filter: BookFilter): Promise<number> {
    return (await this.#ask({ kind: 'count', filter }, Object.keys(filter).length === 0)) as number
  }

  async statistics(filter: BookFilter): Promise<Statistics> {
    return (await this.#ask({ kind: 'statistics', filter }, false)) as Statistics
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
    return { ...this.#writer.load(), ...this.#reader.load() }
  }

  /** The last connection that closes brings the write-ahead log into the file; a writer that died might not. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#imports)
    await Promise.all([this.#writer.close(), this.#reader.close()])
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

  /** As after `#write`, for the thread that answers has a connection of its own. */
  async #ask(question: Question, isIndexed: boolean): Promise<Page | Statistics | number> {
    try {
      return await this.#answer(question, isIndexed)
    } finally {
      this.#snapshot.end()
    }
  }

  async #answer(question: Question, isIndexed: boolean): Promise<Page | Statistics | number> {
    let answer = await this.#reader.ask({ question, isIndexed })
    if (answer === 'behind') {
      await within(this.#writer.index(), INDEX_TIME, 'the index of the books is being built')
      answer = await this.#reader.ask({ question, isIndexed: true })
    }
    if (answer === 'behind') throw new Error('a question was not answered')
    return answer.result
  }

  /** Reads the next page of the list; undefined at its end. */
  #advance(progress: Progress, read: ReadPart): string | undefined {
    if (progress.isAtEnd) return undefined
    const page = this.#page(read, progress.after, progress.limit)
    progress.isAtEnd = page === undefined || page.isLast
    if (page === undefined) return undefined
    progress.after = page.last
    // Books are about as long as those before them.
    progress.limit = page.text * 2 > PART.text ? page.books : Math.min(2 * page.books, PART.books)
    return page.content
  }

  /** The books of the next page of the list, at most so many and not too long together; undefined at its end. */
  #page(
    read: ReadPart,
    after: number,
    limit: number,
  ): (Part & { text: number; isLast: boolean }) | undefined {
    return attempt(() => {
      let books = limit
      let text = this.#textOfNext(after, books)
      while (text > PART.text && books > 1) {
        books = Math.ceil(books / 2)
        text = this.#textOfNext(after, books)
      }
      const part = read(after, books)
      return part && { ...part, text, isLast: part.books < books }
    })
  }

  #json(after: number, books: number): Part | undefined {
    const row = this.#selectJson.get(after, books) as { books: number; last: number | null; json: string }
    return row.last === null ? undefined : { content: row.json, last: row.last, books: row.books }
  }

  #csv(after: number, books: number): Part | undefined {
    // The types do not know of setReturnArrays.
    const rows = this.#selectRows.all(after, books) as unknown as [number, string, string, number][]
    let [content, last] = ['', 0]
    for (const [id, title, author, year] of rows) {
      content += csvLine(id, title, author, year)
      last = id
    }
    return rows.length === 0 ? undefined : { content, last, books: rows.length }
  }

  #textOfNext(after: number, books: number): number {
    return Number(this.#measure.get(after, books)?.text)
  }
}

function notOpened(path: string, what: string | undefined, error: unknown): StoreNotOpened {
  const reason = error instanceof Error ? error.message : String(error)
  const words = what === undefined ? reason : `${what}: ${reason}`
  return new StoreNotOpened(`the database file ${path} cannot be opened: ${words}`, { cause: error })
}
