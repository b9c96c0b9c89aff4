import type { DatabaseSync } from 'node:sqlite'
import { StoreNotOpened } from './store.ts'

/** Marks a file as ours, in its `application_id`: "Book" in ASCII. */
const APPLICATION_ID = 0x426f6f6b

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
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION}`

/**
 * Finds out whose file it is, without changing it.
 * @returns whether it has the schema already; if not, it is new.
 * @throws StoreNotOpened when the file is of a newer release or of another program.
 */
export function hasSchema(database: DatabaseSync): boolean {
  // The tables before the rest, because another instance may be making everything at this moment.
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
  const isOurs = database.prepare('PRAGMA application_id').get()?.application_id === APPLICATION_ID
  if (version > SCHEMA_VERSION) {
    throw new StoreNotOpened(
      `the database has schema version ${version}, and this release knows up to ${SCHEMA_VERSION}: it was written ` +
        'by a newer version of this service, or by another program; start that version, or name another file in DB_URL',
    )
  }
  if (isOurs) return true
  if (isEmpty && version === 0) return false
  throw new StoreNotOpened(
    'the database is of another program, no catalogue of books: name another file in DB_URL',
  )
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
