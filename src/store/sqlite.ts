import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Book, BookChanges, NewBook } from '../book.ts'
import { isUnavailable, makeDurable, openConnection } from './sqlite-connection.ts'
import { createSchema, hasSchema } from './sqlite-schema.ts'
import { type Store, StoreNotOpened, StoreUnavailable } from './store.ts'

/** A page of the list ends with the book that makes its JSON text as long as this. */
const PAGE_LENGTH = 64 * 1024

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
    hasSchema(database)
    makeDurable(database)
    createSchema(database)
    return new SqliteStore(database)
  } catch (error) {
    database?.close()
    if (error instanceof StoreNotOpened) throw error
    throw notOpened(path, undefined, error)
  }
}

class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #selectJson: StatementSync
  readonly #update: StatementSync
  readonly #delete: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare(
      'INSERT INTO books (title, author, year) VALUES (?, ?, ?) RETURNING id, title, author, year',
    )
    this.#select = database.prepare('SELECT id, title, author, year FROM books WHERE id = ?')
    // SQLite writes the JSON, and rows come as arrays: a third of the time and of the memory of an object per book.
    this.#selectJson = database.prepare(`
      SELECT id, json_object('id', id, 'title', title, 'author', author, 'year', year) AS json
      FROM books WHERE id > ? ORDER BY id`)
    this.#selectJson.setReturnArrays(true)
    this.#update = database.prepare(`
      UPDATE books SET title = coalesce(?, title), author = coalesce(?, author), year = coalesce(?, year)
      WHERE id = ? RETURNING id, title, author, year`)
    this.#delete = database.prepare('DELETE FROM books WHERE id = ? RETURNING id')
  }

  async create({ title, author, year }: NewBook): Promise<Book> {
    const [book] = this.#rows(this.#insert, title, author, year)
    if (book === undefined) throw new Error('INSERT returned no row')
    return book
  }

  async find(id: number): Promise<Book | undefined> {
    return this.#rows(this.#select, id)[0]
  }

  async *list(): AsyncIterable<string> {
    for (let page = this.#page(0); page !== undefined; page = this.#page(page.last)) yield page.json
  }

  async update(id: number, { title, author, year }: BookChanges): Promise<Book | undefined> {
    return this.#rows(this.#update, title ?? null, author ?? null, year ?? null, id)[0]
  }

  async delete(id: number): Promise<boolean> {
    return this.#rows(this.#delete, id).length > 0
  }

  async close(): Promise<void> {
    this.#database.close()
  }

  /** Runs a statement to its end: only then has it committed, and only then can a failed commit show itself. */
  #rows(statement: StatementSync, ...parameters: SQLInputValue[]): Book[] {
    return attempt(() => statement.all(...parameters) as unknown as Book[])
  }

  /** The next page of the list, or undefined at its end. */
  #page(after: number): { json: string; last: number } | undefined {
    return attempt(() => {
      let last = after
      let text = ''
      for (const row of this.#selectJson.iterate(after)) {
        const [id, json] = row as unknown as [number, string]
        last = id
        text += text === '' ? json : `,${json}`
        if (text.length >= PAGE_LENGTH) break
      }
      return text === '' ? undefined : { json: text, last }
    })
  }
}

function attempt<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch (error) {
    if (isUnavailable(error)) throw new StoreUnavailable((error as Error).message, { cause: error })
    throw error
  }
}

/** Node's recursive mkdir never ends where the system answers ENOENT below a directory that exists, as in /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another instance that starts at the same time may have been faster.
    if (!existsSync(path)) throw error
  }
}

function notOpened(path: string, what: string | undefined, error: unknown): StoreNotOpened {
  const reason = error instanceof Error ? error.message : String(error)
  const words = what === undefined ? reason : `${what}: ${reason}`
  return new StoreNotOpened(`the database file ${path} cannot be opened: ${words}`, { cause: error })
}
