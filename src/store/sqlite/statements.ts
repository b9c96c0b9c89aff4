import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LRUCache } from 'lru-cache'

/** Statements that are kept: several times as many as usual queries have. */
const KEPT = 100

/** What prepares statements. */
export type Statements = Pick<DatabaseSync, 'prepare'>

/** Keeps the statements of a connection. To prepare them anew for each query would be a third of its cost. */
export class KeptStatements implements Statements {
  readonly #database: DatabaseSync
  readonly #kept = new LRUCache<string, StatementSync>({ max: KEPT })
  /** The last one that was prepared. */
  #last = ''

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  prepare(sql: string): StatementSync {
    this.#last = sql
    let statement = this.#kept.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#kept.set(sql, statement)
    }
    return statement
  }

  /**
   * Prepares the last statement anew the next time. Call it when it has failed: in node:sqlite, a statement that fails
   * while it is iterated over fails the next time, too.
   */
  forgetLast(): void {
    this.#kept.delete(this.#last)
  }
}
