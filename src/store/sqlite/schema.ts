import type { DatabaseSync } from 'node:sqlite'
import { StoreNotOpened } from '../../catalogue/store.ts'
import type { Statements } from './connection.ts'
import { isLocked } from './errors.ts'

/** The `application_id` of this service's files: "Book" in ASCII. */
const APPLICATION_ID = 0x426f6f6b

/** An index of `book_keys`. `equal` is how many books typically share a key. */
interface KeyIndex {
  readonly name: string
  readonly column: string
  readonly equal: number
}

export const KEY_INDEXES: readonly KeyIndex[] = [
  { name: 'book_keys_title', column: 'title_key', equal: 2 },
  { name: 'book_keys_author', column: 'author_key', equal: 20 },
  { name: 'book_keys_year', column: 'year_key', equal: 4000 },
]

/** SQLite's statistics are set to those of a large catalogue, where the choice of an index matters. */
export const createKeyIndex = ({ name, column, equal }: KeyIndex) => `
  CREATE INDEX IF NOT EXISTS ${name} ON book_keys (${column});
  DELETE FROM sqlite_stat1 WHERE idx = '${name}';
  INSERT INTO sqlite_stat1 VALUES ('book_keys', '${name}', '1000000 ${equal}')`

/** @returns an index that is missing, as it is while many books are being indexed; undefined if none is. */
export function missingKeyIndex(database: Statements): KeyIndex | undefined {
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").all()
  const names = new Set(rows.map(({ name }) => name))
  return KEY_INDEXES.find(({ name }) => !names.has(name))
}

/**
 * The table of the books that the index lacks. Its name changes with the version of the words and sort keys: a service
 * of an earlier version that still runs when a command of this one opens the file must not index them by its own rules.
 */
export const UNINDEXED = 'unindexed_4'

const noteCreated = (table: string) => `CREATE TRIGGER book_created AFTER INSERT ON books
     BEGIN INSERT INTO ${table} VALUES (new.id) ON CONFLICT DO NOTHING; END`
export const BOOK_CREATED = noteCreated(UNINDEXED)

/**
 * The trigger of updates notes only the new id. Not a step, because earlier versions would refuse the file: they can use
 * it as it is.
 */
const BOOK_RENUMBERED = `CREATE TRIGGER IF NOT EXISTS book_renumbered AFTER UPDATE ON books WHEN old.id <> new.id
     BEGIN INSERT INTO ${UNINDEXED} VALUES (old.id) ON CONFLICT DO NOTHING; END`

/**
 * The steps from an empty file to the schema of this release. The file's `user_version` is the number of steps done. A
 * new version of the schema adds a step; a released step never changes.
 */
const STEPS = [
  // AUTOINCREMENT never assigns an id twice, even after the newest book was deleted.
  `CREATE TABLE books (
     id     INTEGER PRIMARY KEY AUTOINCREMENT,
     title  TEXT    NOT NULL,
     author TEXT    NOT NULL,
     year   INTEGER NOT NULL
   ) STRICT;
   PRAGMA application_id = ${APPLICATION_ID};`,

  // The index for queries (search-index.ts). The triggers note all books that any program changes.
  `CREATE TABLE book_keys (
     id         INTEGER PRIMARY KEY,
     title_key  TEXT    NOT NULL,
     author_key TEXT    NOT NULL,
     year_key   INTEGER NOT NULL
   ) STRICT;
   ANALYZE book_keys;
   INSERT INTO sqlite_stat1 VALUES ('books', NULL, '1000000');
   ${KEY_INDEXES.map(createKeyIndex).join(';')};
   CREATE VIRTUAL TABLE book_words USING fts5 (
     words, tokenize = 'ascii', content = '', contentless_delete = 1, detail = none
   );
   CREATE TABLE unindexed (id INTEGER PRIMARY KEY) STRICT;
   ${noteCreated('unindexed')};
   CREATE TRIGGER book_updated AFTER UPDATE ON books
     BEGIN INSERT INTO unindexed VALUES (new.id) ON CONFLICT DO NOTHING; END;
   CREATE TRIGGER book_deleted AFTER DELETE ON books
     BEGIN INSERT INTO unindexed VALUES (old.id) ON CONFLICT DO NOTHING; END;
   INSERT INTO unindexed SELECT id FROM books;`,

  // Version 2 of the words. Until a book is indexed again, it is found by its former words. RENAME updates triggers.
  `ALTER TABLE unindexed RENAME TO unindexed_2;
   INSERT INTO unindexed_2 SELECT id FROM books WHERE TRUE ON CONFLICT DO NOTHING;`,

  // Version 2 of the sort keys. Until nearly all books are indexed again, the keys are computed from the books.
  `ALTER TABLE unindexed_2 RENAME TO unindexed_3;
   INSERT INTO unindexed_3 SELECT id FROM books WHERE TRUE ON CONFLICT DO NOTHING;`,

  // Earlier versions had indexes of two keys, which made the file nearly twice as large.
  `DROP INDEX IF EXISTS book_keys_author_title;
   DROP INDEX IF EXISTS book_keys_author_year;
   DROP INDEX IF EXISTS book_keys_year_title;
   DROP INDEX IF EXISTS book_keys_year_author;`,

  // Version 3 of the sort keys. The last statement keeps FTS5 from large merges after many deletions: writes would wait
  // for more than a second. It still merges in small steps.
  `ALTER TABLE unindexed_3 RENAME TO unindexed_4;
   INSERT INTO unindexed_4 SELECT id FROM books WHERE TRUE ON CONFLICT DO NOTHING;
   INSERT INTO book_words (book_words, rank) VALUES ('deletemerge', 0);`,
]

/**
 * Checks which program wrote the file, without changing it.
 * @returns the version of its schema; 0 if the file is new.
 * @throws StoreNotOpened if a newer release or another program wrote the file.
 */
export function schemaVersion(database: DatabaseSync): number {
  // Asked first, because another instance may be creating the schema at this moment.
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
  const isOurs = database.prepare('PRAGMA application_id').get()?.application_id === APPLICATION_ID
  if (version > STEPS.length) {
    throw new StoreNotOpened(
      `the database has schema version ${version}, and this release knows up to ${STEPS.length}: it was written ` +
        'by a newer version of this service, or by another program; use that version, or name another file',
    )
  }
  if (isOurs) return version
  if (isEmpty && version === 0) return 0
  throw new StoreNotOpened('the database is of another program, no catalogue of books: name another file')
}

export const isCurrent = (database: DatabaseSync) => schemaVersion(database) === STEPS.length

/**
 * Creates the schema in a new file, or updates that of an earlier release, in one transaction with the write lock, so
 * several instances may start at once.
 * @throws StoreNotOpened as `schemaVersion` does, or the error of node:sqlite if the file cannot be written.
 */
export function ensureSchema(database: DatabaseSync): void {
  try {
    database.exec('BEGIN IMMEDIATE')
    const missing = STEPS.slice(schemaVersion(database))
    for (const step of missing) database.exec(step)
    database.exec(BOOK_RENUMBERED)
    // Written even if it is the same: the lock alone can be taken where nothing can be written.
    database.exec(`PRAGMA user_version = ${STEPS.length}`)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    // Another process is writing for long, as at the end of an import, so the file is writable.
    if (isLocked(error) && isCurrent(database)) return
    throw error
  }
}
