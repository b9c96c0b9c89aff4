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

/** The id of a created or deleted book; all fields of an updated one. */
export type WrittenBook = Pick<Book, 'id'> & Partial<Book>

/** The book is undefined if none has that id, or it is not as expected. The error is that of node:sqlite. */
export type Outcome = { readonly book: WrittenBook | undefined } | { readonly error: unknown }

const IS_EXPECTED = FIELD_NAMES.map((name) => `${name} IS ?`).join(' AND ')
const PLACEHOLDERS = FIELD_NAMES.map(() => '?').join(', ')

/**
 * @returns what applies writes in order and commits them. They are one transaction, so they wait for the disk only once.
 * A failed write does not affect the others. If the transaction cannot begin or commit, or SQLite rolls it back, all
 * writes fail and none is visible. (If the disk refused the commit, and the process crashes before the next one, the
 * writes may still be in the log.) The outcomes are in the order of the writes, once they are on the disk.
 */
export function groupCommit(database: DatabaseSync): (writes: readonly Write[]) => Outcome[] {
  const insert = database.prepare(`INSERT INTO books (${FIELD_NAMES}) VALUES (${PLACEHOLDERS})`)
  const removeAny = database.prepare('DELETE FROM books WHERE id = ?')
  const removeExpected = database.prepare(`DELETE FROM books WHERE id = ? AND ${IS_EXPECTED}`)
  // `run` also returns the last row id. It throws if that of FTS5 (search-index.ts) is too large for a number.
  for (const statement of [removeAny, removeExpected]) statement.setReadBigInts(true)
  /** By SQL: one for each set of fields, with and without an expected book. */
  const updates = new Map<string, StatementSync>()

  function apply(write: Write): WrittenBook | undefined {
    if (write.kind === 'create') return { id: Number(insert.run(...fieldValues(write.book)).lastInsertRowid) }
    const { id, expected } = write
    const expectedValues = expected === undefined ? [] : fieldValues(expected)
    if (write.kind === 'delete') {
      const remove = expected === undefined ? removeAny : removeExpected
      return remove.run(id, ...expectedValues).changes === 0n ? undefined : { id }
    }
    const fields = changedFields(write.changes)
    const condition = expected === undefined ? 'id = ?' : `id = ? AND ${IS_EXPECTED}`
    const set = assignments(fields.map((name) => [name, '?']))
    const sql = `UPDATE books SET ${set} WHERE ${condition} RETURNING ${COLUMNS}`
    const update = updates.get(sql) ?? database.prepare(sql)
    updates.set(sql, update)
    const values = fields.map((name) => write.changes[name] ?? null)
    // Reads all rows, unlike `get`, so no statement is still running at the commit.
    return update.all(...values, id, ...expectedValues)[0] as WrittenBook | undefined
  }

  function applyAlone(write: Write): Outcome {
    try {
      return { book: apply(write) }
    } catch (error) {
      // Some errors roll back the whole transaction (sqlite.org/lang_transaction.html §3), and so the batch.
      if (!database.isTransaction) throw error
      return { error }
    }
  }

  return (writes) => {
    try {
      database.exec('BEGIN IMMEDIATE')
      const outcomes = writes.map(applyAlone)
      database.exec('COMMIT')
      return outcomes
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      return writes.map(() => ({ error }))
    }
  }
}
