import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Book } from '../book.ts'
import { SORT_KEY_LENGTH } from '../book-query.ts'
import { SEARCHED_LENGTH, wordsOfBook } from '../words.ts'

/**
 * Books in one transaction at most: the more, the more of them share a page of the index. Writes wait meanwhile, for
 * so many some 30 ms; when so many were written at once.
 */
const STEP = 2000

/** A book that was changed, or one that was deleted. */
type Noted = Book | { readonly id: number; readonly year: null }

/**
 * The index of a database file, by which queries find books: their sort keys in `book_keys`, their words in
 * `book_words`. To keep it up to date in the transaction of every write would make writes three times as expensive,
 * for each changes pages all over the index. So a write only notes its book in `unindexed`, and the index follows
 * step by step, before the next query at the latest. The books are the truth: what a crash leaves undone is
 * still noted.
 */
export class BookIndex {
  readonly #database: DatabaseSync
  readonly #noted: StatementSync
  readonly #insertKeys: StatementSync
  readonly #insertWords: StatementSync
  readonly #deleteKeys: StatementSync
  readonly #deleteWords: StatementSync
  readonly #forget: StatementSync
  readonly #last: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#noted = database.prepare(`
      SELECT unindexed.id, substr(title, 1, ${SEARCHED_LENGTH}) AS title,
        substr(author, 1, ${SEARCHED_LENGTH}) AS author, year
      FROM unindexed LEFT JOIN books USING (id) ORDER BY unindexed.id LIMIT ${STEP}`)
    this.#insertKeys = database.prepare(`
      INSERT OR REPLACE INTO book_keys
      VALUES (?, substr(?, 1, ${SORT_KEY_LENGTH}), substr(?, 1, ${SORT_KEY_LENGTH}), ?)`)
    this.#insertWords = database.prepare('INSERT OR REPLACE INTO book_words (rowid, words) VALUES (?, ?)')
    this.#deleteKeys = database.prepare('DELETE FROM book_keys WHERE id = ?')
    this.#deleteWords = database.prepare('DELETE FROM book_words WHERE rowid = ?')
    this.#forget = database.prepare('DELETE FROM unindexed WHERE id <= ?')
    this.#last = database.prepare('SELECT max(id) AS id FROM unindexed')
    // FTS5 leaves a last row id behind that is too large for a number.
    for (const statement of [this.#deleteKeys, this.#deleteWords, this.#forget])
      statement.setReadBigInts(true)
  }

  /** The last book that is noted; 0 if there is none. */
  get last(): number {
    return Number(this.#last.get()?.id ?? 0)
  }

  /**
   * Brings the index up to date for the first books that are noted.
   * @returns how many they are, and the id of the last; Infinity when none is noted any more.
   * @throws what node:sqlite throws; then nothing has changed.
   */
  step(): { books: number; last: number } {
    // Not worth a wait for the disk: what a power cut takes is noted again with it.
    this.#database.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE')
    try {
      let [books, last] = [0, 0]
      for (const row of this.#noted.iterate()) {
        const book = row as unknown as Noted
        if (book.year === null) this.#remove(book.id)
        else this.#insert(book)
        books++
        last = book.id
      }
      this.#forget.run(last)
      this.#database.exec('COMMIT')
      return { books, last: books < STEP ? Number.POSITIVE_INFINITY : last }
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#database.exec('PRAGMA synchronous = FULL')
    }
  }

  #insert(book: Book): void {
    const { id, title, author, year } = book
    this.#insertKeys.run(id, title, author, year)
    this.#insertWords.run(id, wordsOfBook(book).join(' '))
  }

  #remove(id: number): void {
    this.#deleteKeys.run(id)
    this.#deleteWords.run(id)
  }
}
