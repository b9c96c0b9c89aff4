import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { COLUMNS, type FieldValue } from '../../catalogue/book.ts'
import { csvLine } from '../../catalogue/csv-line.ts'
import { STREAM_PAGE } from '../../catalogue/paginate.ts'
import { TEXT_SIZE } from './dialect.ts'
import { attempt } from './failure.ts'
import type { SharedReadTransaction } from './shared-read.ts'

/** The first page of the list is smaller than the others. */
const FIRST_PAGE_BOOKS = 128

/** Books of a list as text. */
interface Part {
  readonly content: string
  /** The id of the last book, and the number of books. */
  readonly last: number
  readonly books: number
}

type ReadPart = (after: number, books: number) => Part | undefined

/** The progress of a list. */
interface Progress {
  /** The id of the last book so far. */
  after: number
  /** Books that the next page may have. */
  limit: number
  isAtEnd: boolean
}

/** Reads the list of all books, in pages of text that are not too long. */
export class SqliteList {
  readonly #snapshot: SharedReadTransaction
  readonly #measure: StatementSync
  readonly #selectJson: StatementSync
  readonly #selectRows: StatementSync

  /** @param snapshot of all reads on the same connection. */
  constructor(database: DatabaseSync, snapshot: SharedReadTransaction) {
    this.#snapshot = snapshot
    const next = (columns: string) => `FROM (SELECT ${columns} FROM books WHERE id > ? ORDER BY id LIMIT ?)`
    // The sizes are taken inside. With `*` there, SQLite would read all texts, of which a page may hold only a few.
    this.#measure = database.prepare(`SELECT total(size) AS text ${next(`${TEXT_SIZE} AS size`)}`)
    // SQLite writes the JSON of a whole page. This takes a third of the time and memory of an object per book.
    this.#selectJson = database.prepare(`
      SELECT count(*) AS books, max(id) AS last,
        group_concat(json_object(${COLUMNS.map((name) => `'${name}', ${name}`)})) AS json ${next('*')}`)
    // This takes half the time of objects, and less than quoting in SQLite.
    this.#selectRows = database.prepare(`SELECT ${COLUMNS} FROM books WHERE id > ? ORDER BY id LIMIT ?`)
    this.#selectRows.setReturnArrays(true)
  }

  /** Implements Store.list. */
  pages(format: 'json' | 'csv'): AsyncIterable<string> {
    const read: ReadPart =
      format === 'csv'
        ? (after, books) => this.#csv(after, books)
        : (after, books) => this.#json(after, books)
    const progress: Progress = { after: 0, limit: FIRST_PAGE_BOOKS, isAtEnd: false }
    // Not a generator, which would keep the last page while it waits. V8 would move that page to its old generation,
    // where it stays until a full collection.
    const next = async (): Promise<IteratorResult<string, undefined>> => {
      const value = this.#advance(progress, read)
      return value === undefined ? { done: true, value } : { done: false, value }
    }
    return { [Symbol.asyncIterator]: () => ({ next }) }
  }

  /** Reads the next page of the list; undefined at its end. */
  #advance(progress: Progress, read: ReadPart): string | undefined {
    if (progress.isAtEnd) return undefined
    const page = this.#page(read, progress.after, progress.limit)
    progress.isAtEnd = page === undefined || page.isLast
    if (page === undefined) return undefined
    progress.after = page.last
    // Books are about as long as those before them.
    progress.limit =
      page.text * 2 > STREAM_PAGE.text ? page.books : Math.min(2 * page.books, STREAM_PAGE.books)
    return page.content
  }

  /** The next page, within the limits of books and text; undefined at the end of the list. */
  #page(
    read: ReadPart,
    after: number,
    limit: number,
  ): (Part & { text: number; isLast: boolean }) | undefined {
    return attempt(() => {
      this.#snapshot.begin()
      let books = limit
      let text = this.#textOfNext(after, books)
      while (text > STREAM_PAGE.text && books > 1) {
        books = Math.ceil(books / 2)
        text = this.#textOfNext(after, books)
      }
      const part = read(after, books)
      return part && { ...part, text, isLast: part.books < books }
    })
  }

  #json(after: number, books: number): Part | undefined {
    const row = this.#selectJson.get(after, books) as { books: number; last: number | null; json: string }
    return row.last === null ? undefined : { content: row.json, last: row.last, books: row.books }
  }

  #csv(after: number, books: number): Part | undefined {
    // The types do not cover setReturnArrays.
    const rows = this.#selectRows.all(after, books) as unknown as [id: number, ...fields: FieldValue[]][]
    let [content, last] = ['', 0]
    for (const row of rows) {
      content += csvLine(row)
      last = row[0]
    }
    return rows.length === 0 ? undefined : { content, last, books: rows.length }
  }

  #textOfNext(after: number, books: number): number {
    return Number(this.#measure.get(after, books)?.text)
  }
}
