import type { DatabaseSync } from 'node:sqlite'
import type { Book } from '../../catalogue/book.ts'
import { SEARCHED_LENGTH, wordsOfBook } from '../../catalogue/search-words.js'
import { sortKey } from '../../catalogue/sort-key.ts'
import { rowsOf } from './connection.ts'
import { readable } from './dialect.ts'
import { createKeyIndex, KEY_INDEXES, missingKeyIndex, UNINDEXED } from './schema.ts'

/**
 * If more books than this are noted, and no more are indexed, it is faster to drop and rebuild the indexes of keys: an
 * index that grows in random places writes a page for each book. Until they are rebuilt, queries read all keys.
 */
const MANY_BOOKS = 20_000

/** A changed book, or a deleted one, which has no year. */
type Noted = Book | { readonly id: number; readonly year: null }

/**
 * The index for queries: sort keys in `book_keys`, words in `book_words`. Updating it in the transaction of every write
 * would make a group commit about ten times as expensive, because each write changes pages all over the index. So a
 * write only notes its book in UNINDEXED. The index follows in steps, before the next query unless that takes too long.
 * The books are the source of truth, and work that a crash leaves undone is still noted.
 */
export type SearchIndex = ReturnType<typeof searchIndexOf>

export function searchIndexOf(database: DatabaseSync) {
  const noted = database.prepare(`
    SELECT ${UNINDEXED}.id, substr(title, 1, ${SEARCHED_LENGTH}) AS title,
      substr(author, 1, ${SEARCHED_LENGTH}) AS author, ${readable('year')} AS year
    FROM ${UNINDEXED} LEFT JOIN books USING (id) ORDER BY ${UNINDEXED}.id`)
  const insertKeys = database.prepare('INSERT OR REPLACE INTO book_keys VALUES (?, ?, ?, ?)')
  const insertWords = database.prepare('INSERT OR REPLACE INTO book_words (rowid, words) VALUES (?, ?)')
  const deleteKeys = database.prepare('DELETE FROM book_keys WHERE id = ?')
  const deleteWords = database.prepare('DELETE FROM book_words WHERE rowid = ?')
  const forget = database.prepare(`DELETE FROM ${UNINDEXED} WHERE id <= ?`)
  const lastNoted = database.prepare(`SELECT max(id) AS id FROM ${UNINDEXED}`)
  const isNotedBeyond = database.prepare(`SELECT 1 FROM ${UNINDEXED} LIMIT 1 OFFSET ?`)
  const countNoted = database.prepare(`SELECT count(*) AS books FROM ${UNINDEXED}`)
  const isIndexedBeyond = database.prepare('SELECT 1 FROM book_keys LIMIT 1 OFFSET ?')
  // FTS5 may leave a last row id that is too large for a number: node:sqlite would throw ERR_OUT_OF_RANGE.
  for (const statement of [deleteKeys, deleteWords, forget]) statement.setReadBigInts(true)

  function areMost(): boolean {
    if (isNotedBeyond.get(MANY_BOOKS) === undefined || missingKeyIndex(database) !== undefined) return false
    return isIndexedBeyond.get(Number(countNoted.get()?.books)) === undefined
  }

  function index(book: Noted): void {
    if (book.year === null) {
      deleteKeys.run(book.id)
      deleteWords.run(book.id)
      return
    }
    const { id, title, author, year } = book
    insertKeys.run(id, sortKey('title', title), sortKey('author', author), year)
    insertWords.run(id, wordsOfBook(book).join(' '))
  }

  return {
    /** The highest id of the noted books; 0 if there are none. */
    last: () => Number(lastNoted.get()?.id ?? 0),

    /**
     * Indexes the first noted books, at least one. After the last noted book, it also creates an index of keys that is
     * missing.
     * @param time in milliseconds, after which it takes no further book.
     * @returns the number of books, and the id of the last: −1 if an index was missing, Infinity when all is done.
     * @throws the error of node:sqlite; then nothing has changed.
     */
    step(time: number) {
      const end = performance.now() + time
      try {
        // A step need not wait for the disk: a power cut that undoes it also restores its notes.
        database.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE')
        if (areMost()) for (const { name } of KEY_INDEXES) database.exec(`DROP INDEX ${name}`)
        let [books, last, isInTime] = [0, 0, true]
        for (const row of rowsOf(noted)) {
          const book = row as unknown as Noted
          index(book)
          books++
          last = book.id
          isInTime = performance.now() < end
          if (!isInTime) break
        }
        forget.run(last)
        const missing = missingKeyIndex(database)
        if (missing !== undefined && isInTime) database.exec(createKeyIndex(missing))
        database.exec('COMMIT')
        if (missing !== undefined) return { books, last: -1 }
        return { books, last: isInTime ? Number.POSITIVE_INFINITY : last }
      } finally {
        try {
          if (database.isTransaction) database.exec('ROLLBACK')
        } finally {
          database.exec('PRAGMA synchronous = FULL')
        }
      }
    },
  }
}
