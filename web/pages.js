import { DUPLICATES } from './address.js'
import { call, nextPath } from './service.js'
import { readYear } from './text.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {object} Page
 * @property {string} path
 * @property {number} start the row of its first book.
 * @property {number} length how many of its books are shown.
 * @property {number[]} ids of all its books, even if they are hidden or were dropped from memory.
 * @property {Book[] | undefined} [read] its books in the response; undefined once they were dropped from memory.
 * @property {Book[] | undefined} [books] those of `read` that are shown.
 */

/** Books per page, and per page when the wanted rows are far from those already read. */
const PAGE_LENGTH = 100
const LONG_PAGE_LENGTH = 1000

/** The books of this many rows before and after the visible ones stay in memory; of other pages only path and ids. */
const KEPT = 1000

/** The ids of books that are being deleted, and not shown. @type {Set<number>} */
export const hidden = new Set()

/** The most books that can be selected: actions take one or two requests for each. */
export const MOST = 10_000

/** The selected books by id, as they were listed. @type {Map<number, Book>} */
export const selected = new Map()

/** @param {readonly Book[]} books */
export function select(books) {
  for (const book of books) selected.set(book.id, book)
}

/** How many books may be read to find one. */
const FAR = 2000

/**
 * The books of one query, read page by page as they are needed. Of a million books, a few thousand are in memory at
 * most; a page that was dropped is read again.
 */
export class BookPages {
  /** @type {Page[]} */
  #pages = []
  /** @type {string | undefined} */
  #next
  /** @type {unknown} */
  #error
  #changed
  #abort = new AbortController()
  /** @type {Set<Page>} */
  #reading = new Set()
  #isPartial = false
  /** The page that is being read after the last one. @type {Promise<Page | undefined> | undefined} */
  #coming
  /** How many books there are, if the service has counted them. @type {number | undefined} */
  #total
  /** The rows that were last asked for. */
  #rows = { first: 0, end: 0 }
  /** Finds likely duplicates, once loaded. @type {typeof import('./duplicates.js') | undefined} */
  #duplicates

  /**
   * @param {string} query parameters of GET /books; with `sort=duplicates`, only the likely duplicates are listed.
   * @param {() => void} changed called when there is something new to show.
   */
  constructor(query, changed) {
    this.query = query
    const parameters = new URLSearchParams(query)
    this.isOfDuplicates = parameters.get('sort') === DUPLICATES
    // Duplicates are read in one response, because those that are alike might be on different pages.
    if (this.isOfDuplicates) parameters.set('sort', 'author')
    else parameters.set('limit', String(PAGE_LENGTH))
    this.#next = `/books?${parameters}`
    this.#changed = changed
  }

  /** How many rows have been read so far, even if they were dropped from memory. */
  get known() {
    const last = this.#pages.at(-1)
    return last === undefined ? 0 : last.start + last.length
  }

  /**
   * How many rows there are, as far as is known. Those beyond `known` are read when `reach` asks for them. If nobody
   * has counted them, one stands for those that follow.
   */
  get length() {
    const { known } = this
    return this.isComplete || known === 0 ? known : Math.max(known, this.#total ?? known + 1)
  }

  /** How many books there are; undefined while that is unknown. */
  get count() {
    return this.isComplete || this.#total !== undefined ? this.length : undefined
  }

  /** @param {number} stored the service's count, which includes books whose deletion can still be undone. */
  setCount(stored) {
    this.#total = stored - this.#withheld
  }

  /** Whether all pages have been read. */
  get isComplete() {
    return this.#next === undefined
  }

  /** Whether books may be missing, because the service has not indexed all of them yet. */
  get isPartial() {
    return this.#isPartial
  }

  /** The rows around those last asked for whose books are in memory; `end` is not one of them. */
  get kept() {
    const has = (/** @type {number} */ index) => this.#pages[index]?.books !== undefined
    let from = this.#indexOf(this.#rows.first)
    let to = from
    while (has(from - 1)) from--
    while (has(to + 1)) to++
    return { first: this.#pages[from]?.start ?? 0, end: this.#pages[to + 1]?.start ?? this.known }
  }

  /** How many of the books that were read are not shown. */
  get #withheld() {
    return this.#pages.reduce((sum, { ids, length }) => sum + ids.length - length, 0)
  }

  /** Why books could not be read. */
  get error() {
    return this.#error
  }

  /** @param {number} row @returns {Book | undefined} undefined while it is not in memory. */
  book(row) {
    const page = this.#pages[this.#indexOf(row)]
    return page?.books?.[row - page.start]
  }

  /** Whether a book is like the one before it, in a list of likely duplicates. @param {number} row */
  isCopy(row) {
    const [before, book] = [this.book(row - 1), this.book(row)]
    if (this.#duplicates === undefined || before === undefined || book === undefined) return false
    return this.#duplicates.keyOf(before) === this.#duplicates.keyOf(book)
  }

  /**
   * Reads the books of these rows, and the next page before the end comes into sight. Drops books of far rows.
   * @param {number} first @param {number} end @param {boolean} [isRetry] whether to read even after an error.
   */
  reach(first, end, isRetry = false) {
    this.#rows = { first, end }
    const mayRead = isRetry || this.#error === undefined
    const from = this.#indexOf(first)
    const to = this.#indexOf(end)
    for (const [index, page] of this.#pages.entries()) {
      const isFar = page.start + page.length < first - KEPT || page.start > end + KEPT
      if (isFar) page.read = page.books = undefined
      else if (!page.books && page.length > 0 && index >= from && index <= to && mayRead)
        void this.#read(page)
    }
    const wanted = end + PAGE_LENGTH / 2
    if (mayRead && wanted >= this.known) void this.#readNext(wanted)
  }

  /** Tries again after an error. `error` stays until there is a response. */
  retry() {
    this.reach(this.#rows.first, this.#rows.end, true)
    if (this.#reading.size > 0 || this.#coming !== undefined) return
    this.#error = undefined
    this.#changed()
  }

  /** The row of a book; gives up after some `FAR` books. @param {number} id @returns {Promise<number | undefined>} */
  async find(id) {
    let known = this.#pages
    for (;;) {
      for (const { start, read = [] } of known) {
        const index = this.#shown(read).findIndex((book) => book.id === id)
        if (index >= 0) return start + index
      }
      if (this.isComplete || this.known >= FAR) return undefined
      const page = await this.#readNext(FAR)
      if (page === undefined) return undefined
      known = [page]
    }
  }

  /**
   * The books of these rows, which are read if they are not in memory.
   * @param {number} first @param {number} end @throws what `call` throws.
   */
  async read(first, end) {
    while (this.known < end && !this.isComplete) {
      if ((await this.#readNext(end)) === undefined) throw this.#error ?? this.#abort.signal.reason
    }
    /** @type {Book[]} */
    const books = []
    for (const page of this.#pages) {
      if (page.start + page.length <= first || page.start >= end) continue
      const read = page.read ?? (await this.#fetch(page.path)).read
      books.push(...this.#shown(read).slice(Math.max(first - page.start, 0), end - page.start))
    }
    return books
  }

  /** Replaces the book of the same id. @param {Book} book */
  replace(book) {
    for (const page of this.#pages) page.read = page.read?.map((each) => (each.id === book.id ? book : each))
    this.refresh()
  }

  /** Removes books that no longer belong to the list. @param {readonly number[]} ids */
  remove(...ids) {
    const gone = new Set(ids)
    for (const page of this.#pages) {
      page.read = page.read?.filter(({ id }) => !gone.has(id))
      page.ids = page.ids.filter((id) => !gone.has(id))
    }
    this.refresh()
  }

  /** Applies a change of `hidden` to the books in memory, without a request. */
  refresh() {
    this.#place()
    this.#changed()
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

  /** Finds out which books of each page are shown, and in which rows. */
  #place() {
    let start = 0
    for (const page of this.#pages) {
      page.books = page.read && this.#shown(page.read)
      page.length = page.books?.length ?? page.ids.filter((id) => !hidden.has(id)).length
      page.start = start
      start += page.length
    }
  }

  /** @param {readonly Book[]} read */
  #shown(read) {
    const shown = read.filter(({ id }) => !hidden.has(id))
    return this.#duplicates?.withoutSingle(shown) ?? shown
  }

  /** @param {number} end @returns {Promise<Page | undefined>} a copy, because the list may drop its books at once. */
  async #readNext(end) {
    if (this.#next === undefined) return
    const isFar = end - this.known > 2 * PAGE_LENGTH
    this.#coming ??= this.#readAfterLast(isFar ? longPage(this.#next) : this.#next)
    return this.#coming
  }

  /** @param {string} path */
  async #readAfterLast(path) {
    let page
    try {
      const { read, next } = await this.#fetch(path)
      const last = { path, start: 0, length: 0, ids: idsOf(read), read }
      this.#pages.push(last)
      this.#next = next
      this.#place()
      page = { ...last }
    } catch (error) {
      if (this.#abort.signal.aborted) return
      this.#error = error
    } finally {
      this.#coming = undefined
    }
    this.#changed()
    return page
  }

  /** @param {Page} page */
  async #read(page) {
    if (this.#reading.has(page)) return
    this.#reading.add(page)
    try {
      page.read = (await this.#fetch(page.path)).read
      page.ids = idsOf(page.read)
      this.#place()
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
    const { signal } = this.#abort
    if (this.isOfDuplicates) this.#duplicates ??= await import('./duplicates.js')
    const headers = { accept: this.#duplicates ? 'application/x-ndjson' : 'application/json' }
    const response = await call('GET', path, { signal, headers })
    /** @type {Book[]} */
    const read = (await this.#duplicates?.readDuplicates(response, signal)) ?? (await response.json()).data
    this.#error = undefined
    if (isPartial(response)) this.#isPartial = true
    return { read, next: nextPath(response) }
  }
}

/** @param {string} path of a page. @returns {string} the path of a longer page that begins there. */
function longPage(path) {
  const [route, query] = path.split('?')
  const parameters = new URLSearchParams(query)
  parameters.set('limit', String(LONG_PAGE_LENGTH))
  return `${route}?${parameters}`
}

/** @param {readonly Book[]} books */
const idsOf = (books) => books.map(({ id }) => id)

/** How many books match a query. @param {string} query @param {AbortSignal} signal */
export async function countBooks(query, signal) {
  const response = await call('GET', `/books?${query}${query && '&'}limit=1&count=true`, { signal })
  return Number(response.headers.get('x-total-count'))
}

/**
 * Whether a book matches a view. True if the service cannot tell, because its search index is incomplete.
 * @param {Book} book @param {import('./address.js').View} view
 */
export async function isIn({ id, title, author, year }, view) {
  const [from = year, to = year] = [readYear(view.yearMin), readYear(view.yearMax)]
  if (year < from || year > to || (view.author !== '' && view.author !== author)) return false
  if (view.q.trim() === '') return true
  const parameters = new URLSearchParams({ q: view.q, title, author, year: String(year), limit: '1000' })
  const response = await call('GET', `/books?${parameters}`)
  /** @type {{ data: Book[] }} */
  const { data } = await response.json()
  return isPartial(response) || data.some((book) => book.id === id)
}

/** @param {Response} response */
const isPartial = ({ headers }) => headers.get('x-search-index') === 'incomplete'
