import type { Connection, ResultSetHeader } from 'mysql2/promise'
import { codeOf } from '../client-server/network-errors.ts'

/** Rows for which pages have to be found, and that use no id up. */
const SOME_ROWS = `
  INSERT INTO books (id, title, author, year)
  VALUES (0, REPEAT('x', 7000), '', 0), (-1, REPEAT('x', 7000), '', 0), (-2, REPEAT('x', 7000), '', 0)`

/** InnoDB had no page for it. */
const isFull = (error: unknown) => codeOf(error) === 'ER_RECORD_FILE_FULL'

/**
 * Whether the server has room on its disk. To undo an update that it has no room for, MariaDB 10.11 takes of the pages
 * that it has set aside; after some, it ends. So when there was no room, updates wait until an insert, which
 * can always be undone, shows that there is.
 */
export class Room {
  #isScarce = false

  /** Runs a statement that writes. */
  async write(
    connection: Connection,
    statement: string,
    values: (string | number | null)[],
  ): Promise<ResultSetHeader> {
    try {
      const [result] = await connection.execute<ResultSetHeader>(statement, values)
      return result
    } catch (error) {
      if (isFull(error)) this.#isScarce = true
      throw error
    }
  }

  /** To be called before an update. @throws what the server says if there still is no room. */
  async ensure(connection: Connection): Promise<void> {
    if (!this.#isScarce) return
    await connection.beginTransaction()
    await connection.query(SOME_ROWS).catch((error) => {
      if (isFull(error)) throw error
    })
    await connection.rollback()
    this.#isScarce = false
  }
}
