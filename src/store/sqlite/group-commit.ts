import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Book, NewBook } from '../../catalogue/book.ts'
import { asFailed, type Failed } from './failure.ts'

/** A write, in a form that can be sent to another thread. */
export type Write =
  | ({ readonly kind: 'create' } & NewBook)
  | ({ readonly kind: 'update'; readonly id: number } & Nullable<NewBook> & Expectation)
  | ({ readonly kind: 'delete'; readonly id: number } & Expectation)

type WriteOf<Kind extends Write['kind']> = Extract<Write, { readonly kind: Kind }>

/** What the book has to be for the write to happen, if that is not all the same. */
type Expectation = { readonly expected?: NewBook | undefined }

/** A field that is null keeps its value. */
type Nullable<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | null }

/** The id of a book that was created or deleted, all of one that was updated. */
export type Row = Pick<Book, 'id'> & Partial<Book>

/** What became of a write: the row that it stored or deleted, if there was one, or why it failed. */
export type Outcome = { readonly row: Row | undefined } | Failed

/** Applies writes in batches: one transaction, and so one wait for the disk, for all writes of a batch. */
export class GroupCommit {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #updateExpected: StatementSync
  readonly #delete: StatementSync
  readonly #deleteExpected: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO books (title, author, year) VALUES (?, ?, ?)')
    const set = `
      UPDATE books SET title = coalesce(?, title), author = coalesce(?, author), year = coalesce(?, year)
      WHERE id = ?`
    const book = 'id, title, author, year'
    const isExpected = 'title = ? AND author = ? AND year = ?'
    this.#update = database.prepare(`${set} RETURNING ${book}`)
    this.#updateExpected = database.prepare(`${set} AND ${isExpected} RETURNING ${book}`)
    this.#delete = database.prepare('DELETE FROM books WHERE id = ?')
    this.#deleteExpected = database.prepare(`DELETE FROM books WHERE id = ? AND ${isExpected}`)
    // The last row id, which comes with the changes, may be one of FTS5's (sqlite-index.ts), too large for a number.
    for (const statement of [this.#delete, this.#deleteExpected]) statement.setReadBigInts(true)
  }

  /**
   * Applies the writes in their order and commits. A write that fails fails alone; if the transaction cannot
   * begin or commit, or SQLite rolls it back, every write has failed and none is visible. (One whose commit the
   * disk refused may still be found in the log after a crash before the next commit.)
   * @returns the outcomes, in the order of the writes, once they are on the disk.
   */
  commit(writes: readonly Write[]): Outcome[] {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      const outcomes = writes.map((write) => this.#attempt(write))
      this.#database.exec('COMMIT')
      return outcomes
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      return writes.map(() => asFailed(error))
    }
  }

  #attempt(write: Write): Outcome {
    try {
      return { row: this.#apply(write) }
    } catch (error) {
      // Some errors end the whole transaction (sqlite.org/lang_transaction.html §3), and so the batch.
      if (!this.#database.isTransaction) throw error
      return asFailed(error)
    }
  }

  #apply(write: Write): Row | undefined {
    switch (write.kind) {
      case 'create':
        return { id: Number(this.#insert.run(write.title, write.author, write.year).lastInsertRowid) }
      case 'update':
        return this.#applyUpdate(write)
      case 'delete':
        return this.#applyDelete(write)
    }
  }

  #applyUpdate({ id, title, author, year, expected }: WriteOf<'update'>): Row | undefined {
    const rows =
      expected === undefined
        ? this.#update.all(title, author, year, id)
        : this.#updateExpected.all(title, author, year, id, expected.title, expected.author, expected.year)
    // All rows, as `get` would not, so that no statement is left running when the transaction commits.
    return rows[0] as Row | undefined
  }

  #applyDelete({ id, expected }: WriteOf<'delete'>): Row | undefined {
    const { changes } =
      expected === undefined
        ? this.#delete.run(id)
        : this.#deleteExpected.run(id, expected.title, expected.author, expected.year)
    return changes === 0n ? undefined : { id }
  }
}
