import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Book, COLUMNS } from '../../catalogue/book.ts'
import type { Page, Store } from '../../catalogue/store.ts'
import { openConnection } from './connection.ts'
import { attempt } from './failure.ts'
import { SqliteList } from './list.ts'
import { type AnswerCount, SharedReadTransaction } from './shared-read.ts'

/** Reads single books, lists and short pages on the thread that asks. In WAL mode its connection never waits for the writer. */
export class SqliteBookReader implements Pick<Store, 'find' | 'list' | 'ready' | 'close'> {
  readonly #database: DatabaseSync
  readonly #snapshot: SharedReadTransaction
  readonly #select: StatementSync
  readonly #list: SqliteList

  /** @param answers of all threads that use the file. */
  constructor(database: DatabaseSync, answers: AnswerCount) {
    database.exec('PRAGMA query_only = ON')
    this.#database = database
    this.#snapshot = new SharedReadTransaction(database, answers)
    this.#select = database.prepare(`SELECT ${COLUMNS} FROM books WHERE id = ?`)
    this.#list = new SqliteList(database, this.#snapshot)
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

  /** As {@link SqliteList.page}. */
  page(...query: Parameters<SqliteList['page']>): Page | undefined {
    return this.#list.page(...query)
  }

  async ready(): Promise<void> {
    await this.find(1)
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}

/** Opens a file for another thread, which the store has opened already. */
export function openBookReader(path: string, answers: AnswerCount): SqliteBookReader {
  return new SqliteBookReader(openConnection(path), answers)
}
