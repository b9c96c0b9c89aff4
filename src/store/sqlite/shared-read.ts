import type { DatabaseSync, StatementSync } from 'node:sqlite'

/**
 * A read transaction for all reads of one turn of the event loop. Taking and releasing locks for each read would be two
 * thirds of the cost of reading a book.
 */
export class SharedReadTransaction {
  readonly #database: DatabaseSync
  readonly #begin: StatementSync
  readonly #rollback: StatementSync
  #isOpen = false

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#begin = database.prepare('BEGIN')
    this.#rollback = database.prepare('ROLLBACK')
  }

  /** All reads until the end of this turn, or until `end`, see the same state of the database. */
  begin(): void {
    if (this.#isOpen) return
    this.#begin.run()
    this.#isOpen = true
    setImmediate(() => this.end())
  }

  /** Call it before a write is answered, so every later read sees the write. */
  end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    // Nothing was written, and unlike a commit, a rollback does not fail after a failed read. Some read errors end the
    // transaction, and so does closing the database.
    if (this.#database.isOpen && this.#database.isTransaction) this.#rollback.run()
  }
}
