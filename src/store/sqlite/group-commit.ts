import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  type Book,
  type BookChanges,
  COLUMNS,
  changedFields,
  FIELD_NAMES,
  fieldValues,
  type NewBook,
} from '../../catalogue/book.ts'
import { assignments } from '../query/dialect.ts'

export type Write =
  | { readonly kind: 'create'; readonly book: NewBook }
  | {
      readonly kind: 'update'
      readonly id: number
      readonly changes: BookChanges
      readonly expected: Expected
    }
  | { readonly kind: 'delete'; readonly id: number; readonly expected: Expected }

/** The write applies only if the stored book equals this one. Undefined accepts any. */
type Expected = Book | undefined

type WriteOf<Kind extends Write['kind']> = Extract<Write, { readonly kind: Kind }>

/** The id of a created or deleted book; all fields of an updated one. */
export type WrittenBook = Pick<Book, 'id'> & Partial<Book>

/** The book is undefined if none has that id, or it is not as expected. The error is that of node:sqlite. */
export type Outcome = { readonly book: WrittenBook | undefined } | { readonly error: unknown }

const IS_EXPECTED = FIELD_NAMES.map((name) => `${name} IS ?`).join(' AND ')
const PLACEHOLDERS = FIELD_NAMES.map(() => '?').join(', ')

/** Applies writes in batches. A batch is one transaction, so it waits for the disk only once. */
export class GroupCommit {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  /** By SQL: one for each set of fields, with and without an expected book. */
  readonly #updates = new Map<string, StatementSync>()
  readonly #delete: StatementSync
  readonly #deleteExpected: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare(`INSERT INTO books (${FIELD_NAMES}) VALUES (${PLACEHOLDERS})`)
    this.#delete = database.prepare('DELETE FROM books WHERE id = ?')
    this.#deleteExpected = database.prepare(`DELETE FROM books WHERE id = ? AND ${IS_EXPECTED}`)
    // `run` also returns the last row id. It throws if that of FTS5 (search-index.ts) is too large for a number.
    for (const statement of [this.#delete, this.#deleteExpected]) statement.setReadBigInts(true)
  }

  /**
   * Applies the writes in order and commits. A failed write does not affect the others. If the transaction cannot begin
   * or commit, or SQLite rolls it back, all writes fail and none is visible. (If the disk refused the commit, and the
   * process crashes before the next one, the writes may still be in the log.)
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
      return writes.map(() => ({ error }))
    }
  }

  #applyAlone(write: Write): Outcome {
    try {
      return { book: this.#apply(write) }
    } catch (error) {
      // Some errors roll back the whole transaction (sqlite.org/lang_transaction.html §3), and so the batch.
      if (!this.#database.isTransaction) throw error
      return { error }
    }
  }

  #apply(write: Write): WrittenBook | undefined {
    switch (write.kind) {
      case 'create':
        return { id: Number(this.#insert.run(...fieldValues(write.book)).lastInsertRowid) }
      case 'update':
        return this.#applyUpdate(write)
      case 'delete':
        return this.#applyDelete(write)
    }
  }

  #applyUpdate({ id, changes, expected }: WriteOf<'update'>): WrittenBook | undefined {
    const fields = changedFields(changes)
    const condition = expected === undefined ? 'id = ?' : `id = ? AND ${IS_EXPECTED}`
    const set = assignments(fields.map((name) => [name, '?']))
    const sql = `UPDATE books SET ${set} WHERE ${condition} RETURNING ${COLUMNS}`
    const statement = this.#updates.get(sql) ?? this.#database.prepare(sql)
    this.#updates.set(sql, statement)
    const values = fields.map((name) => changes[name] ?? null)
    // Reads all rows, unlike `get`, so no statement is still running at the commit.
    return statement.all(...values, id, ...valuesOf(expected))[0] as WrittenBook | undefined
  }

  #applyDelete({ id, expected }: WriteOf<'delete'>): WrittenBook | undefined {
    const statement = expected === undefined ? this.#delete : this.#deleteExpected
    const { changes } = statement.run(id, ...valuesOf(expected))
    return changes === 0n ? undefined : { id }
  }
}

const valuesOf = (expected: Expected) => (expected === undefined ? [] : fieldValues(expected))
