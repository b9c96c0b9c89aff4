import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AnswerCount } from './threads.ts'

/**
 * A read transaction for all reads of one turn of the event loop. Taking and releasing locks for each read would be two
 * thirds of the cost of reading a book.
 */
export class SharedReadTransaction {
  readonly #database: DatabaseSync
  readonly #answers: AnswerCount
  readonly #begin: StatementSync
  readonly #rollback: StatementSync
  #isOpen = false
  /** The count when the transaction began. */
  #begunAt = 0

  constructor(database: DatabaseSync, answers: AnswerCount) {
    this.#database = database
    this.#answers = answers
    this.#begin = database.prepare('BEGIN')
    this.#rollback = database.prepare('ROLLBACK')
  }

  /** All reads until the end of this turn, or until the count changes, see the same state of the database. */
  begin(): void {
    const answers = this.#answers.get()
    if (this.#isOpen && answers === this.#begunAt) return
    this.#end()
    this.#begin.run()
    this.#begunAt = answers
    this.#isOpen = true
    setImmediate(() => this.#end())
  }

  #end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    // Nothing was written, and unlike a commit, a rollback does not fail after a failed read. Some read errors end the
    // transaction, and so does closing the database.
    if (this.#database.isOpen && this.#database.isTransaction) this.#rollback.run()
  }
}
