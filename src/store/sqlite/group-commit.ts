import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Book, COLUMNS, FIELD_NAMES, type FieldValue } from '../../catalogue/book.ts'
import { asFailed, type Failed } from './failure.ts'
import { databasePath } from './worker.ts'

/** A write, in a form that can be sent to another thread. Values are in the order of FIELD_NAMES. */
export type Write =
  | { readonly kind: 'create'; readonly values: FieldValues }
  /** A null keeps the stored value. */
  | {
      readonly kind: 'update'
      readonly id: number
      readonly values: Nullable
      readonly expected?: FieldValues
    }
  | { readonly kind: 'delete'; readonly id: number; readonly expected?: FieldValues }

type WriteOf<Kind extends Write['kind']> = Extract<Write, { readonly kind: Kind }>

type FieldValues = readonly FieldValue[]
type Nullable = readonly (FieldValue | null)[]

/** The id of a created or deleted book, or all of an updated one. */
export type WrittenBook = Pick<Book, 'id'> & Partial<Book>

/** The result of a write: the book stored or deleted, if any, or the failure. */
export type Outcome = { readonly book: WrittenBook | undefined } | Failed

const SET = FIELD_NAMES.map((name) => `${name} = coalesce(?, ${name})`).join(', ')
const IS_EXPECTED = FIELD_NAMES.map((name) => `${name} IS ?`).join(' AND ')
const PLACEHOLDERS = FIELD_NAMES.map(() => '?').join(', ')

/** Applies writes in batches. A batch is one transaction, so it waits for the disk only once. */
export class GroupCommit {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #updateExpected: StatementSync
  readonly #delete: StatementSync
  readonly #deleteExpected: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare(`INSERT INTO books (${FIELD_NAMES}) VALUES (${PLACEHOLDERS})`)
    const update = `UPDATE books SET ${SET} WHERE id = ?`
    this.#update = database.prepare(`${update} RETURNING ${COLUMNS}`)
    this.#updateExpected = database.prepare(`${update} AND ${IS_EXPECTED} RETURNING ${COLUMNS}`)
    this.#delete = database.prepare('DELETE FROM books WHERE id = ?')
    this.#deleteExpected = database.prepare(`DELETE FROM books WHERE id = ? AND ${IS_EXPECTED}`)
    // The changes come with the last row id. FTS5's (search-index.ts) may be too large for a number.
    for (const statement of [this.#delete, this.#deleteExpected]) statement.setReadBigInts(true)
  }

  /**
   * Applies the writes in order and commits. A failed write does not affect the others. If the transaction cannot begin
   * or commit, or SQLite rolls it back, all writes fail and none is visible. (If the disk refused the commit, its
   * writes may still be in the log after a crash before the next commit.)
   * @returns the outcomes, in the order of the writes, once they are on the disk.
   */
  commit(writes: readonly Write[]): Outcome[] {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      const outcomes = writes.map((write) => this.#applyAlone(write))
      this.#database.exec('COMMIT')
      return outcomes
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const failed = asFailed(error, databasePath)
      return writes.map(() => failed)
    }
  }

  #applyAlone(write: Write): Outcome {
    try {
      return { book: this.#apply(write) }
    } catch (error) {
      // Some errors end the whole transaction (sqlite.org/lang_transaction.html §3), and so the batch.
      if (!this.#database.isTransaction) throw error
      return asFailed(error)
    }
  }

  #apply(write: Write): WrittenBook | undefined {
    switch (write.kind) {
      case 'create':
        return { id: Number(this.#insert.run(...write.values).lastInsertRowid) }
      case 'update':
        return this.#applyUpdate(write)
      case 'delete':
        return this.#applyDelete(write)
    }
  }

  #applyUpdate({ id, values, expected }: WriteOf<'update'>): WrittenBook | undefined {
    const books =
      expected === undefined
        ? this.#update.all(...values, id)
        : this.#updateExpected.all(...values, id, ...expected)
    // Reads all rows, unlike `get`, so no statement is still running at the commit.
    return books[0] as WrittenBook | undefined
  }

  #applyDelete({ id, expected }: WriteOf<'delete'>): WrittenBook | undefined {
    const { changes } =
      expected === undefined ? this.#delete.run(id) : this.#deleteExpected.run(id, ...expected)
    return changes === 0n ? undefined : { id }
  }
}
