import type { DatabaseSync } from 'node:sqlite'
import { StoreNotOpened } from './store.ts'

/** The version of the schema that this release writes, kept in the file's `user_version`. */
const SCHEMA_VERSION = 1

/** AUTOINCREMENT: an id is never given twice, not even after the newest book was deleted. */
const SCHEMA = `
  CREATE TABLE books (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    title  TEXT    NOT NULL,
    author TEXT    NOT NULL,
    year   INTEGER NOT NULL
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION}`

/**
 * Finds out whose file it is, without changing it.
 * @returns whether it has the schema already; if not, it is new.
 * @throws StoreNotOpened when the file is of a newer release or of another program.
 */
export function hasSchema(database: DatabaseSync): boolean {
  // The table before the version, because another instance may be making both at this moment.
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'books'").get() !== undefined
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
  if (version > SCHEMA_VERSION) {
    throw new StoreNotOpened(
      `the database was written by a newer version of this service (schema ${version}, this release knows ` +
        `up to ${SCHEMA_VERSION}): start that version, or name another file in DB_URL`,
    )
  }
  if (version === SCHEMA_VERSION) return true
  if (hasTable) {
    throw new StoreNotOpened(
      'the database has a table named books that this service did not make: name another file in DB_URL',
    )
  }
  return false
}

/**
 * Creates the schema in a new file, in one transaction that takes the write lock: several instances may start at
 * once, and a file that cannot be written is found out at start.
 * @throws StoreNotOpened as hasSchema does.
 */
export function createSchema(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    if (!hasSchema(database)) database.exec(SCHEMA)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
