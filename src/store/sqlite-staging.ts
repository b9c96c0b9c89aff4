import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Imported, ImportOptions } from './store.ts'

/** Kibibytes of memory for pages of the database, and of the staging table; the rest is in files. */
const [PAGE_CACHE, STAGING_CACHE] = [2 * 1024, 1024]

/** The id or null, the title, the author and the year of one book after another. */
export type Fields = readonly (string | number | null)[]
const FIELDS = 4

/**
 * The books of an import, until they go into the catalogue together. They are in a temporary table of the connection,
 * whose file nobody else can see and the system removes with the process; so that the write lock of the catalogue is
 * held for the last step only.
 */
export class Staging {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  #staged = 0
  #skipped = 0
  /** The highest id that the books have been compared with. */
  #compared = 0

  constructor(database: DatabaseSync) {
    this.#database = database
    database.exec(`
      PRAGMA cache_size = -${PAGE_CACHE};
      PRAGMA temp_store = FILE;
      PRAGMA temp.cache_size = -${STAGING_CACHE};
      CREATE TEMP TABLE staged (id INTEGER, title TEXT NOT NULL, author TEXT NOT NULL, year INTEGER NOT NULL)`)
    this.#insert = database.prepare('INSERT INTO temp.staged VALUES (?, ?, ?, ?)')
  }

  add(fields: Fields): void {
    // Of the temporary table only: no lock of the catalogue is taken.
    this.#database.exec('BEGIN')
    for (let i = 0; i < fields.length; i += FIELDS) {
      this.#insert.run(fields[i] ?? null, fields[i + 1] ?? '', fields[i + 2] ?? '', fields[i + 3] ?? 0)
      this.#staged++
    }
    this.#database.exec('COMMIT')
  }

  /** Passes over what is in the catalogue. It reads all of it, and keeps nobody waiting. */
  skipExisting(): void {
    this.#database.exec('CREATE INDEX temp.staged_books ON staged (title, author, year)')
    this.#compare()
  }

  /**
   * Stores the books, all of them or none.
   * @returns undefined if ids are to be kept and there are books already.
   */
  store({ skipExisting, keepIds }: ImportOptions): Imported | undefined {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      if (keepIds && this.#lastId() > 0) return undefined
      // What has been added since.
      if (skipExisting) this.#compare()
      this.#database.exec(`
        INSERT INTO main.books (id, title, author, year)
        SELECT ${keepIds ? 'id' : 'NULL'}, title, author, year FROM temp.staged ORDER BY rowid`)
      this.#database.exec('COMMIT')
      return this.counts()
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    }
  }

  counts(): Imported {
    return { added: this.#staged - this.#skipped, skipped: this.#skipped }
  }

  #compare(): void {
    const last = this.#lastId()
    // The catalogue is read once, in its order, whatever SQLite thinks of the sizes of both.
    const { changes } = this.#database
      .prepare(
        `DELETE FROM temp.staged WHERE rowid IN (
           SELECT staged.rowid FROM main.books AS book CROSS JOIN temp.staged AS staged
           ON staged.title = book.title AND staged.author = book.author AND staged.year = book.year
           WHERE book.id > ? AND book.id <= ?)`,
      )
      .run(this.#compared, last)
    this.#skipped += Number(changes)
    this.#compared = last
  }

  #lastId(): number {
    return Number(this.#database.prepare('SELECT max(id) AS id FROM main.books').get()?.id ?? 0)
  }
}
