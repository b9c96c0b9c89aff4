import type { Connection, RowDataPacket } from 'mysql2/promise'
import { codeOf } from './connection-errors.ts'

/** The unit in which InnoDB extends files but the smallest, in bytes. */
const EXTENT = 1024 * 1024

const SMALL = `
  SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name IN ('books', 'book_words') AND data_length < ${EXTENT}`

/** Rows that take an extent, and use no id up. */
const LARGE_ROWS: Readonly<Record<string, string>> = {
  books: `INSERT INTO books (id, title, author, year) VALUES (0, REPEAT('x', ${EXTENT}), '', 0)`,
  book_words: `
    INSERT INTO book_words (book, word)
    WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 50)
    SELECT -100 * a.i - b.i, REPEAT('x', 128) FROM n AS a, n AS b`,
}

/**
 * Makes the files of the tables larger than an extent. In a smaller one InnoDB sets only two pages aside for a change.
 * Where they do not suffice, and the disk is full, MariaDB 10.11 loses the row whose update it refuses, or ends
 * while it undoes an insert.
 */
export async function enlargeFiles(connection: Connection): Promise<void> {
  const [tables] = await connection.query<({ name: string } & RowDataPacket)[]>(SMALL)
  for (const { name } of tables) {
    await connection.beginTransaction()
    try {
      await connection.query(LARGE_ROWS[name] ?? '')
    } catch (error) {
      // There is no room, or another instance does the same: no reason not to start.
      if (!codeOf(error)?.startsWith('ER_')) throw error
    }
    // The file stays as large as it has become.
    await connection.rollback()
  }
}
