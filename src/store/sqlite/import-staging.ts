import { hash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Imported, ImportOptions } from '../../catalogue/store.ts'

/** Kibibytes of memory for pages of the database, and of the staging table; the rest is in files. */
const [PAGE_CACHE, STAGING_CACHE] = [2 * 1024, 1024]

/**
 * Books of the catalogue that one statement compares, and staged books that it takes away at most. Between statements
 * others can write, the write-ahead log can begin anew, and the import can end. Such a statement takes some ten
 * milliseconds, or a second if all books are as long as they can be.
 */
const [COMPARED, REMOVED] = [250, 20_000]

/** How long books are compared before somebody can say that the import is to end, in milliseconds. */
const COMPARE_TIME = 200

/** The id or null, the title, the author and the year of one book after another. */
export type Fields = readonly (string | number | null)[]
const FIELDS = 4

/**
 * What is compared instead of the three fields, which have no NUL. Long texts that begin alike would take long; their
 * digest is bytes, which no text equals.
 */
const KEY = `
  iif(octet_length(title) + octet_length(author) <= 400,
    title || char(0) || author || char(0) || year, digest(title, author, year || ''))`

const digest = (...fields: SQLOutputValue[]) => hash('sha256', fields.join('\0'), 'buffer')

/**
 * Looks up each book once, in the index, however many equal ones the part of the catalogue has. What it finds is gone
 * afterwards, so that no staged book is found twice either.
 */
const REMOVE_EXISTING = `
  DELETE FROM temp.staged WHERE rowid IN (
    SELECT rowid FROM temp.staged INDEXED BY staged_books WHERE ${KEY} IN (
      SELECT ${KEY} FROM main.books WHERE id > ? AND id <= ?)
    LIMIT ?)`

/**
 * The books of an import, until they go into the catalogue together. They are in a temporary table of the connection,
 * whose file nobody else can see and the system removes with the process; so that the write lock of the catalogue is
 * held for the last step only.
 */
export class Staging {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #selectLast: StatementSync
  /** Undefined until there is the index that it uses. */
  #remove: StatementSync | undefined
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
    database.function('digest', { deterministic: true, varargs: true }, digest)
    this.#insert = database.prepare('INSERT INTO temp.staged VALUES (?, ?, ?, ?)')
    this.#selectLast = database.prepare(
      'SELECT max(id) AS last FROM (SELECT id FROM main.books WHERE id > ? ORDER BY id LIMIT ?)',
    )
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

  /**
   * Passes over books that are in a part of the catalogue, and keeps nobody waiting.
   * @returns whether there is more of the catalogue.
   */
  skipExisting(): boolean {
    if (this.#remove === undefined) {
      this.#database.exec(`CREATE INDEX temp.staged_books ON staged (${KEY})`)
      this.#remove = this.#database.prepare(REMOVE_EXISTING)
      return true
    }
    const end = performance.now() + COMPARE_TIME
    while (this.#compare()) if (performance.now() > end) return true
    return false
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
      if (skipExisting) while (this.#compare());
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

  /** @returns whether there is more to compare. */
  #compare(): boolean {
    const { last } = this.#selectLast.get(this.#compared, COMPARED) as { last: number | null }
    if (last === null) return false
    const changes = Number(this.#remove?.run(this.#compared, last, REMOVED).changes)
    this.#skipped += changes
    if (changes < REMOVED) this.#compared = last
    return true
  }

  #lastId(): number {
    return Number(this.#database.prepare('SELECT max(id) AS id FROM main.books').get()?.id ?? 0)
  }
}
