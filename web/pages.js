import { call } from './service.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ path: string, start: number, length: number, books: Book[] | undefined }} Page
 */

/** Books asked for at once. */
const PAGE_LENGTH = 100

/** Pages on either side of those shown whose books are kept; of others only where they begin. */
const KEPT = 10

/**
 * The books of one query, read page by page as they are needed. Of a million books a few thousand are in memory at
 * most; a page that was dropped is read again from where it began.
 */
export class BookPages {
  /** @type {Page[]} */
  #pages = []
  /** @type {string | undefined} */
  #next
  /** @type {unknown} */
  #error
  #changed
  #hidden
  #abort = new AbortController()
  /** @type {Set<Page | 'next'>} */
  #reading = new Set()
  /** The rows last asked for. */
  #rows = { first: 0, end: 0 }

  /**
   * @param {string} query parameters of GET /books.
   * @param {ReadonlySet<number>} hidden the ids of books that are not shown.
   * @param {() => void} changed called when there is something new to show.
   */
  constructor(query, hidden, changed) {
    this.#next = `/books?${query}${query && '&'}limit=${PAGE_LENGTH}`
    this.#hidden = hidden
    this.#changed = changed
  }

  /** How many books are known so far. */
  get length() {
    const last = this.#pages.at(-1)
    return last === undefined ? 0 : last.start + last.length
  }

  /** Whether these are all. */
  get isComplete() {
    return this.#next === undefined
  }

  /** Why books could not be read. */
  get error() {
    return this.#error
  }

  /** @param {number} row @returns {Book | undefined} undefined while it is on its way. */
  book(row) {
    const page = this.#pages[this.#indexOf(row)]
    return page?.books?.[row - page.start]
  }

  /**
   * Sees to it that the books of these rows are there, and the next page before the end comes into sight.
   * @param {number} first @param {number} end
   */
  reach(first, end) {
    this.#rows = { first, end }
    const from = this.#indexOf(first)
    const to = this.#indexOf(end)
    for (const [index, page] of this.#pages.entries()) {
      if (index < from - KEPT || index > to + KEPT) page.books = undefined
      else if (page.books === undefined && index >= from && index <= to && this.#error === undefined)
        void this.#read(page)
    }
    if (this.#error === undefined && end + PAGE_LENGTH / 2 >= this.length) void this.#readNext()
  }

  /** Tries again after an error. */
  retry() {
    this.#error = undefined
    this.reach(this.#rows.first, this.#rows.end)
    if (this.#reading.size === 0) this.#changed()
  }

  /** Puts a book in the place of the one with its id. @param {Book} book */
  replace(book) {
    for (const { books } of this.#pages) {
      const index = books?.findIndex(({ id }) => id === book.id) ?? -1
      if (index !== -1) books?.splice(index, 1, book)
    }
    this.#changed()
  }

  /** Reads those pages again that are there, as after books were hidden or shown. */
  refresh() {
    for (const page of this.#pages) if (page.books !== undefined) void this.#read(page)
  }

  stop() {
    this.#abort.abort()
  }

  /** @param {number} row */
  #indexOf(row) {
    let [low, high] = [0, this.#pages.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#pages[middle]?.start ?? 0) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  async #readNext() {
    const path = this.#next
    if (path === undefined || this.#reading.has('next')) return
    this.#reading.add('next')
    try {
      const { books, next } = await this.#fetch(path)
      this.#pages.push({ path, start: this.length, length: books.length, books })
      this.#next = next
    } catch (error) {
      if (this.#abort.signal.aborted) return
      this.#error = error
    } finally {
      this.#reading.delete('next')
    }
    this.#changed()
  }

  /** @param {Page} page */
  async #read(page) {
    if (this.#reading.has(page)) return
    this.#reading.add(page)
    try {
      const { books } = await this.#fetch(page.path)
      page.books = books
      page.length = books.length
      let start = 0
      for (const each of this.#pages) {
        each.start = start
        start += each.length
      }
    } catch (error) {
      if (this.#abort.signal.aborted) return
      this.#error = error
    } finally {
      this.#reading.delete(page)
    }
    this.#changed()
  }

  /** @param {string} path */
  async #fetch(path) {
    const response = await call('GET', path, { signal: this.#abort.signal })
    /** @type {{ data: Book[] }} */
    const { data } = await response.json()
    const next = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]
    return { books: data.filter(({ id }) => !this.#hidden.has(id)), next }
  }
}

/**
 * How many books there are of a query.
 * @param {string} query @param {AbortSignal} signal
 */
export async function countBooks(query, signal) {
  const response = await call('GET', `/books?${query}${query && '&'}limit=1&count=true`, { signal })
  return Number(response.headers.get('x-total-count'))
}
