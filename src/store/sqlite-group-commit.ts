import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Book, NewBook } from '../book.ts'
import { asFailed, type Failed } from './sqlite-failure.ts'

/** A write, in a form that can be sent to another thread. */
export type Write =
  | ({ readonly kind: 'create' } & NewBook)
  | ({ readonly kind: 'update'; readonly id: number } & Nullable<NewBook>)
  | { readonly kind: 'delete'; readonly id: number }

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
  readonly #delete: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO books (title, author, year) VALUES (?, ?, ?)')
    this.#update = database.prepare(`
      UPDATE books SET title = coalesce(?, title), author = coalesce(?, author), year = coalesce(?, year)
      WHERE id = ? RETURNING id, title, author, year`)
    this.#delete = database.prepare('DELETE FROM books WHERE id = ?')
    // The last row id, which comes with the changes, may be one of FTS5's (sqlite-index.ts), too large for a number.
    this.#delete.setReadBigInts(true)
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
        // All rows, as `get` would not, so that no statement is left running when the transaction commits.
        return this.#update.all(write.title, write.author, write.year, write.id)[0] as Row | undefined
      case 'delete':
        return this.#delete.run(write.id).changes === 0n ? undefined : { id: write.id }
    }
  }
}
