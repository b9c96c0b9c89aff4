import type { DatabaseSync } from 'node:sqlite'
import {
  type Book,
  type BookChanges,
  changedFields,
  FIELD_NAMES,
  type FieldValue,
  fieldValues,
  type NewBook,
} from '../../catalogue/book.ts'
import { assignments } from '../query/dialect.ts'
import { statementCache } from './connection.ts'
import { readable, VALUES } from './dialect.ts'

export type Write =
  | { readonly kind: 'create'; readonly book: NewBook }
  | ({ readonly kind: 'update'; readonly changes: BookChanges } & Target)
  | ({ readonly kind: 'delete' } & Target)

interface Target {
  readonly id: number
  /** The write applies only if the stored book equals this one. Undefined accepts any. */
  readonly expected: Book | undefined
}

/** The id of a created or deleted book; all fields of an updated one. */
export type WrittenBook = Pick<Book, 'id'> & Partial<Book>

/** The book is undefined if none has that id, or it is not as expected. The error is that of node:sqlite. */
export type Outcome = { readonly book: WrittenBook | undefined } | { readonly error: unknown }

const IS_EXPECTED = FIELD_NAMES.map((name) => `${readable(name)} IS ?`).join(' AND ')
const PLACEHOLDERS = FIELD_NAMES.map(() => '?').join(', ')

/**
 * @returns what applies writes in order and commits them. They are one transaction, so they wait for the disk only once.
 * A failed write does not affect the others. If the transaction cannot begin or commit, or SQLite rolls it back, all
 * writes fail and none is visible. (If the disk refused the commit, and the process crashes before the next one, the
 * writes may still be in the log.) The outcomes are in the order of the writes, once they are on the disk.
 * @param beforeCommit throws if the transaction must not be committed.
 */
export function groupCommit(
  database: DatabaseSync,
  beforeCommit: () => void,
): (writes: readonly Write[]) => Outcome[] {
  const insert = database.prepare(`INSERT INTO books (${FIELD_NAMES}) VALUES (${PLACEHOLDERS})`)
  /** For each set of fields, with and without an expected book. */
  const statements = statementCache(database)

  function apply(write: Write): WrittenBook | undefined {
    if (write.kind === 'create') return { id: Number(insert.run(...fieldValues(write.book)).lastInsertRowid) }
    const { id, expected } = write
    const condition = expected === undefined ? 'id = ?' : `id = ? AND ${IS_EXPECTED}`
    const selected = [id, ...(expected === undefined ? [] : fieldValues(expected))]
    // `all` reads all rows, unlike `get`, so no statement is still running at the commit.
    const written = (sql: string, values: readonly FieldValue[] = []) =>
      statements.prepare(sql).all(...values, ...selected)[0] as WrittenBook | undefined
    if (write.kind === 'delete') return written(`DELETE FROM books WHERE ${condition} RETURNING id`)
    const fields = changedFields(write.changes)
    const set = assignments(fields.map((name) => [name, '?']))
    const values = fields.map((name) => write.changes[name] ?? null)
    return written(`UPDATE books SET ${set} WHERE ${condition} RETURNING ${VALUES}`, values)
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
      beforeCommit()
      database.exec('COMMIT')
      return outcomes
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      return writes.map(() => ({ error }))
    }
  }
}
