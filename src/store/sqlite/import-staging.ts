import { hash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { COLUMNS, FIELD_NAMES, identityText, isNullable, REQUIRED_FIELDS } from '../../catalogue/book.ts'
import { type Imported, type ImportOptions, StoreNotEmpty } from '../../catalogue/store.ts'
import { TEXT_SIZE } from './dialect.ts'
import { BOOK_CREATED, UNINDEXED } from './schema.ts'

/** KiB of cache for pages of the database, and of the staging table; its others are in a temporary file. */
const PAGE_CACHE = 2 * 1024
const STAGING_CACHE = 1024

/**
 * Books of the catalogue that one statement compares, and bytes of their texts, which are in memory meanwhile. A single
 * book may have more. Between statements, others can write, the write-ahead log can restart, and the import can be
 * cancelled.
 */
const COMPARED = 250
const COMPARED_BYTES = 2 * 1024 * 1024

/** The most staged books that one statement removes. */
const REMOVED = 20_000

/** Milliseconds of comparing between two opportunities to cancel the import. */
const COMPARE_TIME = 200

export type StagingOptions = Omit<ImportOptions, 'signal'>

/** The values of one book after another, in the order of COLUMNS. The id may be null. */
export type BookValues = readonly (string | number | null)[]

/** Bytes of a book's texts above which its digest is compared: comparing long texts that begin alike takes long. */
const LONG = 400

/** The key by which books are compared: distinctText() in SQL, or its digest: a blob, which never equals a text. */
const FIELDS_IN_ONE = [
  REQUIRED_FIELDS.join(' || char(0) || '),
  ...FIELD_NAMES.filter(isNullable).map((name) => `ifnull(char(0) || '${name}=' || ${name}, '')`),
].join(' || ')
const KEY = `iif(${TEXT_SIZE} > ${LONG}, digest(${FIELDS_IN_ONE}), ${FIELDS_IN_ONE})`
const STAGED_KEY = `coalesce(digest, ${FIELDS_IN_ONE})`

const digest = (text: SQLOutputValue) => hash('sha256', String(text), 'buffer')

/**
 * Looks each key up once in the index of staged books, however many equal books the catalogue has. It deletes what it
 * finds, so no staged book is found twice.
 */
const REMOVE_EXISTING = `
  DELETE FROM temp.staged WHERE rowid IN (
    SELECT rowid FROM temp.staged INDEXED BY staged_books WHERE ${STAGED_KEY} IN (
      SELECT ${KEY} FROM main.books WHERE id > ? AND id <= ?)
    LIMIT ?)`

/**
 * Holds the books of an import in a temporary table until they are stored together. The write lock of the catalogue is
 * held only for this last step. Nobody else can see the table's file, and the system removes it with the process.
 */
export function importStaging(database: DatabaseSync, { skipExisting, keepIds }: StagingOptions) {
  database.exec(`
    PRAGMA cache_size = -${PAGE_CACHE};
    PRAGMA temp_store = FILE;
    PRAGMA temp.cache_size = -${STAGING_CACHE};
    CREATE TEMP TABLE staged AS SELECT ${COLUMNS}, NULL AS digest FROM main.books WHERE false`)
  database.function('digest', { deterministic: true }, digest)
  const insert = database.prepare(`INSERT INTO temp.staged VALUES (${COLUMNS.map(() => '?')}, ?)`)
  const selectLast = database.prepare(
    `SELECT max(id) AS last FROM (
      SELECT id, row_number() OVER compared AS place, sum(${TEXT_SIZE}) OVER compared AS size
      FROM (SELECT * FROM main.books WHERE id > ? ORDER BY id LIMIT ?)
      WINDOW compared AS (ORDER BY id))
    WHERE place = 1 OR size <= ?`,
  )
  /** Undefined until the index that it uses exists. */
  let remove: StatementSync | undefined
  let staged = 0
  let skipped = 0
  /** The highest id of the catalogue that was compared. */
  let compared = 0

  /** @returns false if the whole catalogue was compared before. */
  function compare(): boolean {
    const { last } = selectLast.get(compared, COMPARED, COMPARED_BYTES) as { last: number | null }
    if (last === null) return false
    const changes = Number(remove?.run(compared, last, REMOVED).changes)
    skipped += changes
    if (changes < REMOVED) compared = last
    return true
  }

  const counts = (): Imported => ({ added: staged - skipped, skipped })

  return {
    counts,

    add(values: BookValues): undefined {
      // Writes only to the temporary table, and takes no lock of the catalogue.
      database.exec('BEGIN')
      for (let i = 0; i < values.length; i += COLUMNS.length) {
        const book = values.slice(i, i + COLUMNS.length)
        insert.run(...book, skipExisting ? digestIfLong(book) : null)
        staged++
      }
      database.exec('COMMIT')
    },

    /** Skips books that a part of the catalogue has, without blocking others. @returns whether to call it again. */
    skipExisting(): boolean {
      if (remove === undefined) {
        database.exec(`CREATE INDEX temp.staged_books ON staged (${STAGED_KEY})`)
        remove = database.prepare(REMOVE_EXISTING)
        return true
      }
      const end = performance.now() + COMPARE_TIME
      while (compare()) if (performance.now() > end) return true
      return false
    },

    /**
     * Stores all of the books or none.
     * @param beforeCommit throws if they must not be committed.
     * @throws StoreNotEmpty if ids are to be kept and there are books already.
     */
    store(beforeCommit: () => void): Imported {
      database.exec('BEGIN IMMEDIATE')
      try {
        const last = Number(database.prepare('SELECT max(id) AS id FROM main.books').get()?.id ?? 0)
        if (keepIds && last > 0) throw new StoreNotEmpty()
        // Others may have added books since `skipExisting`.
        if (skipExisting) while (compare());
        // With the trigger, this would take half as long again, while other writes wait.
        database.exec(`
          DROP TRIGGER book_created;
          INSERT INTO main.books (${COLUMNS})
          SELECT ${keepIds ? 'id' : 'NULL'}, ${FIELD_NAMES} FROM temp.staged ORDER BY rowid;
          INSERT OR IGNORE INTO ${UNINDEXED} SELECT id FROM main.books WHERE id > ${last};
          ${BOOK_CREATED}`)
        beforeCommit()
        database.exec('COMMIT')
        return counts()
      } finally {
        if (database.isTransaction) database.exec('ROLLBACK')
      }
    },
  }
}

/** Computed for each book, because CREATE INDEX would keep the texts of all books in memory until its end. */
function digestIfLong([_id, ...values]: BookValues): Buffer | null {
  let size = 0
  for (const value of values) if (typeof value === 'string') size += Buffer.byteLength(value)
  if (size <= LONG) return null
  return digest(identityText(Object.fromEntries(FIELD_NAMES.map((name, i) => [name, values[i]]))))
}
