import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Book, COLUMNS, type FieldValue } from '../../catalogue/book.ts'
import { bookOfRow } from '../../catalogue/page.ts'
import { type BookQuery, idOrder, type Position } from '../../catalogue/query.ts'
import type { Page, PageBounds } from '../../catalogue/store.ts'
import { openConnection } from './connection.ts'
import { readable, TEXT_SIZE, VALUES } from './dialect.ts'
import { storeError } from './errors.ts'
import type { ResponseCount } from './threads.ts'

/**
 * Larger pages take longer for each book: the strings that SQLite and V8 make of them leave the caches of the processor.
 * 512 bytes of text for each book are enough for most.
 */
export const LIST_BOUNDS: PageBounds = { books: 512, text: 256 * 1024 }

/**
 * One read transaction for all reads of a turn of the event loop. Taking and releasing locks for each read would be two
 * thirds of the cost of reading a book.
 * @returns what begins it: all reads until the end of this turn, or until the count changes, see the same state of the
 * database.
 */
export function sharedReads(database: DatabaseSync, responses: ResponseCount): () => void {
  const begin = database.prepare('BEGIN')
  const rollback = database.prepare('ROLLBACK')
  let isOpen = false
  /** The response count when the transaction began. */
  let begunAt = 0

  function end(): void {
    if (!isOpen) return
    isOpen = false
    // Nothing was written, and unlike a commit, a rollback does not fail after a failed read. Some read errors end the
    // transaction, and so does closing the database.
    if (database.isOpen && database.isTransaction) rollback.run()
  }

  return () => {
    const count = responses.get()
    if (isOpen && count === begunAt) return
    end()
    begin.run()
    begunAt = count
    isOpen = true
    setImmediate(end)
  }
}

/**
 * Reads single books and pages in the order of ids on the calling thread. In WAL mode it never waits for a writer.
 * @param path of a file that a store has already opened.
 */
export function openBookReader(path: string, responses: ResponseCount) {
  const database = openConnection(path, 'rw')
  database.exec('PRAGMA query_only = ON')
  const beginReads = sharedReads(database, responses)
  const select = database.prepare(`SELECT ${VALUES} FROM books WHERE id = ?`)
  select.setReturnArrays(true)
  const idOf = database.prepare('SELECT id FROM books WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?')
  const lastId = database.prepare('SELECT max(id) AS id FROM books')
  // A plain range of ids takes a quarter less time than a subquery with a LIMIT. It is read in the order of ids.
  const range = 'FROM books NOT INDEXED WHERE id > ? AND id <= ?'
  const measure = database.prepare(`SELECT count(*) AS count, total(${TEXT_SIZE}) AS text ${range}`)
  const selectRows = database.prepare(`SELECT ${VALUES} ${range} ORDER BY id`)
  // Arrays take half the time of objects. The types do not cover them.
  selectRows.setReturnArrays(true)
  // SQLite writes the JSON of the whole page, in a third of the time and memory of one object per book.
  const json = `json_object(${COLUMNS.map((name) => `'${name}', ${readable(name)}`)})`
  const selectJson = database.prepare(`SELECT group_concat(${json}) AS text ${range}`)
  const selectLines = database.prepare(`SELECT group_concat(${json}, '\n') AS text ${range}`)

  const read = <Result>(all: () => Result): Result => {
    try {
      beginReads()
      return all()
    } catch (error) {
      throw storeError(error)
    }
  }

  /** A page of the ids above `after`, up to `last`. */
  function pageOf(after: number, last: number, count: number, more: boolean): Page {
    const text = (statement: StatementSync) => String(read(() => statement.get(after, last))?.text ?? '')
    return {
      count,
      rows: () => read(() => selectRows.all(after, last)) as unknown as FieldValue[][],
      json: () => text(selectJson),
      lines: () => text(selectLines),
      last: count === 0 ? undefined : [last],
      more,
    }
  }

  return {
    async find(id: number): Promise<Book | undefined> {
      const row = read(() => select.get(id)) as FieldValue[] | undefined
      return row && bookOfRow(row)
    },

    /**
     * Implements Store.page for all books in the order of ids. Through a query thread, it would take four times as long.
     * @returns undefined for any other query, and for a page with more text than LIST_BOUNDS allows.
     */
    page(query: BookQuery, after: Position | undefined, bounds: PageBounds): Page | undefined {
      if (idOrder(query)?.descending !== false) return undefined
      return read(() => {
        const begin = Number(after?.[0] ?? 0)
        for (let books = bounds.books; ; books = Math.ceil(books / 2)) {
          const end = idOf.get(begin, books - 1)?.id as number | undefined
          const last = end ?? Number(lastId.get()?.id)
          const { count, text } = measure.get(begin, last) as { count: number; text: number }
          if (text > LIST_BOUNDS.text && bounds.text > LIST_BOUNDS.text) return undefined
          if (text > bounds.text && books > 1) continue
          return pageOf(begin, last, count, end !== undefined && idOf.get(end, 0) !== undefined)
        }
      })
    },

    close: async () => database.close(),
  }
}
