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
 * Creates the schema in a new file and recognises its own in an existing one, in one transaction that takes the
 * write lock: several instances may start at once, and a file that cannot be written is found out at start.
 * @throws StoreNotOpened when the file is of a newer release or of another program.
 */
export function createSchema(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version > SCHEMA_VERSION) {
      throw new StoreNotOpened(
        `the database was written by a newer version of this service (schema ${version}, this release knows ` +
          `up to ${SCHEMA_VERSION}): start that version, or name another file in DB_URL`,
      )
    }
    if (version === 0) {
      if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'books'").get() !== undefined) {
        throw new StoreNotOpened(
          'the database has a table named books that this service did not make: name another file in DB_URL',
        )
      }
      database.exec(SCHEMA)
    }
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}
