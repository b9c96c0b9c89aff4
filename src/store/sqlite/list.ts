import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { csvLine } from '../../catalogue/csv-line.ts'
import { PART } from '../../catalogue/paginate.ts'
import { attempt } from './failure.ts'

/** The first page of the list is smaller than the others. */
const FIRST_PAGE_BOOKS = 128

/** Books of a list as text. */
interface Part {
  readonly content: string
  /** The id of the last book, and how many there are. */
  readonly last: number
  readonly books: number
}

type ReadPart = (after: number, books: number) => Part | undefined

/** How far a list has come. */
interface Progress {
  /** The id of the last book so far. */
  after: number
  /** Books that the next page may have. */
  limit: number
  isAtEnd: boolean
}

/** Reads the list of all books, in pages of text that are not too long. */
export class SqliteList {
  readonly #measure: StatementSync
  readonly #selectJson: StatementSync
  readonly #selectRows: StatementSync

  constructor(database: DatabaseSync) {
    const next = 'FROM (SELECT * FROM books WHERE id > ? ORDER BY id LIMIT ?)'
    this.#measure = database.prepare(
      `SELECT total(octet_length(title) + octet_length(author)) AS text ${next}`,
    )
    // SQLite writes the JSON of a whole page: a third of the time and of the memory of an object per book.
    this.#selectJson = database.prepare(`
      SELECT count(*) AS books, max(id) AS last,
        group_concat(json_object('id', id, 'title', title, 'author', author, 'year', year)) AS json ${next}`)
    // Half the time of objects, and less than SQLite takes to quote what needs it.
    this.#selectRows = database.prepare(
      'SELECT id, title, author, year FROM books WHERE id > ? ORDER BY id LIMIT ?',
    )
    this.#selectRows.setReturnArrays(true)
  }

  /** The list as Store.list promises it. */
  pages(format: 'json' | 'csv'): AsyncIterable<string> {
    const read: ReadPart =
      format === 'csv'
        ? (after, books) => this.#csv(after, books)
        : (after, books) => this.#json(after, books)
    const progress: Progress = { after: 0, limit: FIRST_PAGE_BOOKS, isAtEnd: false }
    // No generator: while it waits to be asked for the next page it would keep the last, and so bring it into V8's old
    // generation, where it stays until a full collection.
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
    progress.limit = page.text * 2 > PART.text ? page.books : Math.min(2 * page.books, PART.books)
    return page.content
  }

  /** The books of the next page, at most so many and not too long together; undefined at the end of the list. */
  #page(
    read: ReadPart,
    after: number,
    limit: number,
  ): (Part & { text: number; isLast: boolean }) | undefined {
    return attempt(() => {
      let books = limit
      let text = this.#textOfNext(after, books)
      while (text > PART.text && books > 1) {
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
    // The types do not know of setReturnArrays.
    const rows = this.#selectRows.all(after, books) as unknown as [number, string, string, number][]
    let [content, last] = ['', 0]
    for (const [id, title, author, year] of rows) {
      content += csvLine(id, title, author, year)
      last = id
    }
    return rows.length === 0 ? undefined : { content, last, books: rows.length }
  }

  #textOfNext(after: number, books: number): number {
    return Number(this.#measure.get(after, books)?.text)
  }
}
