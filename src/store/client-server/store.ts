import type { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import { csvLines } from '../../catalogue/csv-line.ts'
import type { BookFilter, BookQuery, Position } from '../../catalogue/query.ts'
import type {
  Imported,
  ImportedBook,
  ImportOptions,
  Page,
  PageBounds,
  QueryOptions,
  Statistics,
  Store,
} from '../../catalogue/store.ts'
import type { Value } from '../query/dialect.ts'
import { attempt, type Faults, type Use } from '../server-attempt.ts'
import { type ImportTransaction, importIntoServer } from './import.ts'
import { type ListStatements, UNCUT_BOOKS } from './page-sql.ts'
import { type ConnectionPool, DEADLINE, type UseOptions } from './pool.ts'
import { type QueryEngine, ServerQueries } from './queries.ts'
import { type WordIndex, WordUpkeep } from './search-indexer.ts'

const LATE_WRITE = `the database server did not answer within ${DEADLINE / 1000} seconds, and it is not known whether the write was stored`

/** What differs between the engines: what they do on a connection for each promise of the store. */
export interface ServerEngine<Connection> extends Pick<QueryEngine, 'dialect'> {
  readonly faults: Faults
  /** Makes the index of words; undefined where the database has none. */
  readonly words: ((use: Use<Connection>) => WordIndex) | undefined
  /** Whether `create` stores the words of the book as well. */
  createsWords(book: NewBook): boolean
  readonly list: ListStatements
  create(connection: Connection, book: NewBook): Promise<Book>
  find(connection: Connection, id: number): Promise<Book | undefined>
  update(connection: Connection, id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined>
  delete(connection: Connection, id: number, expected?: Book): Promise<boolean>
  /** Runs a statement of a query. */
  query(connection: Connection, sql: string, values: readonly Value[]): Promise<unknown[]>
  importOn(connection: Connection): ImportTransaction
}

/** A store on a server. */
export class ServerStore<Connection> implements Store {
  readonly #pool: ConnectionPool<Connection>
  readonly #engine: ServerEngine<Connection>
  readonly #words: WordUpkeep | undefined
  readonly #queries: ServerQueries

  /** @param report tells the operator of something that takes time; one line. */
  constructor(
    pool: ConnectionPool<Connection>,
    engine: ServerEngine<Connection>,
    report: (message: string) => void,
  ) {
    this.#pool = pool
    this.#engine = engine
    const index = engine.words?.((work) => this.#use(work))
    this.#words = index && new WordUpkeep(index, report)
    this.#queries = new ServerQueries({
      dialect: (words, query) => engine.dialect(words, query),
      words: this.#words,
      use: (work, options) =>
        this.#use((connection) => work((sql, values) => engine.query(connection, sql, values)), options),
    })
  }

  async create(book: NewBook): Promise<Book> {
    const created = await this.#write((connection) => this.#engine.create(connection, book))
    if (!this.#engine.createsWords(book)) this.#words?.noteWrite()
    return created
  }

  find(id: number): Promise<Book | undefined> {
    return this.#use((connection) => this.#engine.find(connection, id))
  }

  list(format: 'json' | 'csv' = 'json'): AsyncIterable<string> {
    const read = (after: number, time: number) =>
      this.#use((connection) => this.#listPage(connection, after), { time })
    return pages(read, format === 'csv' ? csvLines : jsonOf)
  }

  page(
    query: BookQuery,
    after: Position | undefined,
    bounds: PageBounds,
    options?: QueryOptions,
  ): Promise<Page> {
    return this.#queries.page(query, after, bounds, options)
  }

  count(filter: BookFilter, options?: QueryOptions): Promise<number> {
    return this.#queries.count(filter, options)
  }

  statistics(filter: BookFilter, options?: QueryOptions): Promise<Statistics> {
    return this.#queries.statistics(filter, options)
  }

  async update(id: number, changes: BookChanges, expected?: Book): Promise<Book | undefined> {
    const updated = await this.#write((connection) => this.#engine.update(connection, id, changes, expected))
    this.#words?.noteWrite()
    return updated
  }

  delete(id: number, expected?: Book): Promise<boolean> {
    return this.#write((connection) => this.#engine.delete(connection, id, expected))
  }

  async import(
    groups: AsyncIterable<readonly ImportedBook[]>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const { faults } = this.#engine
    const transactionOn = (connection: Connection) => this.#engine.importOn(connection)
    const imported = await importIntoServer(this.#pool, faults, transactionOn, groups, options)
    this.#words?.noteWrite()
    return imported
  }

  load() {
    return this.#pool.load()
  }

  async close(): Promise<void> {
    await this.#words?.close()
    await this.#pool.close()
  }

  async #listPage(connection: Connection, after: number): Promise<ListPage> {
    const { query, list } = this.#engine
    const uncut = (await query(connection, list.uncut, [after, after])) as Book[]
    if (uncut.length > 0) return { books: uncut, isLast: uncut.length < UNCUT_BOOKS }
    const books = (await query(connection, list.cut, [after])) as Book[]
    return { books, isLast: books.length === 0 }
  }

  #write<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.#use(work, { late: LATE_WRITE })
  }

  #use<Result>(work: (connection: Connection) => Promise<Result>, options?: UseOptions): Promise<Result> {
    return attempt(this.#pool, this.#engine.faults, work, options)
  }
}

interface ListPage {
  readonly books: Book[]
  readonly isLast: boolean
}

/** The fields as values for the placeholders of a statement. */
export function fieldsOf({ title, author, year }: NewBook): [title: string, author: string, year: number] {
  return [title, author, year]
}

const jsonOf = (books: readonly Book[]) => JSON.stringify(books).slice(1, -1)

/**
 * All books as pages of text, each read when it is asked for. The first two have the time of one together, because an
 * answer begins only when both are there.
 */
async function* pages(
  read: (after: number, time: number) => Promise<ListPage>,
  textOf: (books: readonly Book[]) => string,
): AsyncIterable<string> {
  const end = Date.now() + DEADLINE
  let after = 0
  for (let page = 1; ; page++) {
    const { books, isLast } = await read(after, page <= 2 ? end - Date.now() : DEADLINE)
    const last = books.at(-1)
    if (last === undefined) return
    after = last.id
    const text = textOf(books)
    // What a driver has done with them is garbage that survives for long: of a million books 130 MB, without this.
    books.length = 0
    yield text
    if (isLast) return
  }
}
