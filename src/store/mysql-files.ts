import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { ConnectionPool } from './client-server/pool.ts'

/** The unit in which InnoDB extends files but the smallest, in bytes. */
const EXTENT = 1024 * 1024

const IS_SMALL = `
  SELECT 1 FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = ? AND data_length < ${EXTENT}`

/** Rows that take an extent, and use no id up. */
const LARGE_ROWS = {
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
export async function enlargeFiles(pool: ConnectionPool<Connection>): Promise<void> {
  for (const [table, largeRows] of Object.entries(LARGE_ROWS)) {
    // There is no room, or another instance does the same: no reason not to start.
    await pool.use((connection) => enlarge(connection, table, largeRows)).catch(() => {})
  }
}

async function enlarge(connection: Connection, table: string, largeRows: string): Promise<void> {
  const [small] = await connection.query<RowDataPacket[]>(IS_SMALL, [table])
  if (small.length === 0) return
  await connection.beginTransaction()
  await connection.query(largeRows)
  // The file stays as large as it has become.
  await connection.rollback()
}
