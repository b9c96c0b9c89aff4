import type { Book, BookChanges, NewBook } from './book.ts'
import type { BookFilter, BookQuery, Position } from './query.ts'
import {
  type ImportedBook,
  type ImportOptions,
  type PageBounds,
  type QueryOptions,
  type Store,
  StoreUnavailable,
} from './store.ts'

/** Stands for a store that is still being opened: until then every use of it is StoreUnavailable. */
export class DeferredStore implements Store {
  #store: Store | undefined

  open(store: Store): void {
    this.#store = store
  }

  get isOpen(): boolean {
    return this.#store !== undefined
  }

  async create(book: NewBook) {
    return this.#opened.create(book)
  }

  async find(id: number) {
    return this.#opened.find(id)
  }

  list(pages?: 'json' | 'csv') {
    return this.#opened.list(pages)
  }

  async page(query: BookQuery, after: Position | undefined, bounds: PageBounds, options?: QueryOptions) {
    return this.#opened.page(query, after, bounds, options)
  }

  async count(filter: BookFilter, options?: QueryOptions) {
    return this.#opened.count(filter, options)
  }

  async statistics(filter: BookFilter, options?: QueryOptions) {
    return this.#opened.statistics(filter, options)
  }

  async update(id: number, changes: BookChanges, expected?: Book) {
    return this.#opened.update(id, changes, expected)
  }

  async delete(id: number, expected?: Book) {
    return this.#opened.delete(id, expected)
  }

  async import(groups: AsyncIterable<readonly ImportedBook[]>, options?: ImportOptions) {
    return this.#opened.import(groups, options)
  }

  load() {
    return this.#store?.load() ?? {}
  }

  async close() {
    await this.#store?.close()
  }

  get #opened(): Store {
    if (this.#store === undefined) throw new StoreUnavailable('the store is being opened')
    return this.#store
  }
}
