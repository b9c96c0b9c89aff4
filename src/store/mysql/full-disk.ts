import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import { codeOf } from '../client-server/network-errors.ts'
import type { ConnectionPool } from '../client-server/pool.ts'
import { IS_READ_ONLY } from './driver.ts'
import { WORDS } from './search-index.ts'

/** The unit in which InnoDB extends its files, except small ones; in bytes. */
const EXTENT = 1024 * 1024

const IS_SMALL = `
  SELECT 1 FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = ? AND data_length < ${EXTENT} AND NOT ${IS_READ_ONLY}`

/** Rows that need an extent and use up no id. */
const LARGE_ROWS: Readonly<Record<string, string>> = {
  books: `INSERT INTO books (id, title, author, year) VALUES (0, REPEAT('x', ${EXTENT}), '', 0)`,
  [WORDS]: `
    INSERT INTO ${WORDS} (book, word)
    WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 50)
    SELECT -100 * a.i - b.i, REPEAT('x', 128) FROM n AS a, n AS b`,
}

/** Rows that need new pages and use up no id. */
const SOME_ROWS = `
  INSERT INTO books (id, title, author, year)
  VALUES (0, REPEAT('x', 7000), '', 0), (-1, REPEAT('x', 7000), '', 0), (-2, REPEAT('x', 7000), '', 0)`

/** InnoDB had no page for the row. */
const isFull = (error: unknown) => codeOf(error) === 'ER_RECORD_FILE_FULL'

/**
 * Keeps MariaDB (10.11) from ending, or losing a row, when its disk is full. To undo an update for which there is no
 * room, it takes some of the pages that it has reserved; when these are used up, it ends. So when the disk was full,
 * updates are refused until an insert, which can always be undone, shows that there is room again. In a file smaller
 * than an extent InnoDB reserves only two pages; so the files are made larger at the start. All rows are rolled back,
 * but triggers would see them: so they are written only into tables that the service made itself.
 */
export class DiskFullGuard {
  #isFull = false
  readonly #mayProbe: boolean

  /** @param ownTables the tables that the service made itself. */
  constructor(ownTables: readonly string[]) {
    this.#mayProbe = ownTables.includes('books')
  }

  /** Runs a statement that writes. */
  async write(
    connection: Connection,
    statement: string,
    values: (string | number | null)[],
  ): Promise<ResultSetHeader> {
    const [result] = await this.watch(connection.execute<ResultSetHeader>(statement, values))
    return result
  }

  /** Notices when a write fails because the disk is full. @returns the result of the write. */
  async watch<Result>(write: Promise<Result>): Promise<Result> {
    try {
      return await write
    } catch (error) {
      if (isFull(error)) this.#isFull = this.#mayProbe
      throw error
    }
  }

  /** To be called before an update. @throws what the server reports if the disk is still full. */
  async ensureRoom(connection: Connection): Promise<void> {
    if (!this.#isFull) return
    await connection.beginTransaction()
    await connection.query(SOME_ROWS).catch((error) => {
      if (isFull(error)) throw error
    })
    await connection.rollback()
    this.#isFull = false
  }
}

/**
 * Makes the files of tables larger than an extent: see DiskFullGuard.
 * @param ownTables the tables that the service made itself.
 */
export async function enlargeFiles(
  pool: ConnectionPool<Connection>,
  ownTables: readonly string[],
): Promise<void> {
  for (const table of ownTables) {
    // An error, because the disk is full or another instance does the same, is no reason not to start.
    await pool.run((connection) => enlarge(connection, table), { isRepeatable: false }).catch(() => {})
  }
}

async function enlarge(connection: Connection, table: string): Promise<void> {
  const [small] = await connection.query<RowDataPacket[]>(IS_SMALL, [table])
  const rows = LARGE_ROWS[table]
  if (small.length === 0 || rows === undefined) return
  await connection.beginTransaction()
  await connection.query(rows)
  // The file does not shrink again.
  await connection.rollback()
}
