import { computed, signal } from '@preact/signals-core'
import { call, nextPath } from './service.js'

/**
 * @typedef {import('./fields.js').Book} Book
 * @typedef {object} State
 * @property {readonly Page[]} pages
 * @property {string | undefined} next the path of the page after the last one.
 * @property {unknown} error why books could not be read.
 * @property {boolean} isPartial
 * @property {number | undefined} total how many books there are, if the service has counted them.
 * @typedef {object} Page
 * @property {string} path
 * @property {readonly number[]} ids of all its books, even if they are hidden or were dropped from memory.
 * @property {readonly Book[] | undefined} books in its response; undefined once they were dropped from memory.
 * @typedef {object} Placed what of a page is shown.
 * @property {number} start the row of its first book.
 * @property {readonly number[]} ids of its books that are shown.
 * @property {number} length how many these are.
 * @property {readonly Book[] | undefined} shown
 */

/** Books per page, and per page when the wanted rows are far from those already read. */
const PAGE_LENGTH = 100
const LONG_PAGE_LENGTH = 1000

/** The books of this many rows before and after the visible ones stay in memory; of other pages only path and ids. */
const KEPT = 1000

/** How many books may be read to find one. */
const FAR = 2000

/** The value of `sort` that lists only likely duplicates. The service does not know it. */
export const DUPLICATES = 'duplicates'

/** The ids of books that are being deleted, and not shown. */
export const hidden = signal(/** @type {ReadonlySet<number>} */ (new Set()))

/**
 * The books of one query, read page by page as they are needed. Of a million books, a few thousand are in memory at
 * most; a page that was dropped is read again. What is drawn from it is drawn again when it changes.
 */
export class BookPages {
  #state
  #placed = computed(() => this.#place())
  #changed
  #abort = new AbortController()
  /** The paths of the pages that are being read again. @type {Set<string>} */
  #reading = new Set()
  /** The page that is being read after the last one. @type {Promise<Page | undefined> | undefined} */
  #coming
  /** The paths of the parts of the list after the one that is being read. */
  #parts
  /** Books that were edited, and may belong to another place of the list now. @type {Map<number, Book>} */
  #edited = new Map()
  /** The rows that were last asked for. */
  #rows = { first: 0, end: 0 }
  /** Finds likely duplicates, once loaded. @type {typeof import('./duplicates.js') | undefined} */
  #duplicates

  /**
   * @param {string} query parameters of GET /books; with `sort=duplicates`, only the likely duplicates are listed.
   * @param {number} startRow where the list is to be scrolled to.
   * @param {() => void} changed called when books have been read, or could not be read.
   */
  constructor(query, startRow, changed) {
    this.query = query
    this.startRow = startRow
    const parameters = new URLSearchParams(query)
    this.isOfDuplicates = parameters.get('sort') === DUPLICATES
    // Duplicates are read in one response, because those that are alike might be on different pages.
    if (this.isOfDuplicates) parameters.set('sort', 'author')
    else parameters.set('limit', String(PAGE_LENGTH))
    this.#changed = changed
    const [next, ...parts] = partsOf(parameters)
    this.#parts = parts
    /** @type {State} */
    const state = {
      pages: [],
      next,
      error: undefined,
      isPartial: false,
      total: undefined,
    }
    this.#state = signal(state)
  }

  /** How many rows have been read so far, even if they were dropped from memory. */
  get known() {
    const last = this.#placed.value.at(-1)
    return last === undefined ? 0 : last.start + last.length
  }

  /**
   * How many rows there are, as far as is known. Those beyond `known` are read when `reach` asks for them. If nobody
   * has counted them, one stands for those that follow.
   */
  get length() {
    const { known } = this
    return this.isComplete || known === 0 ? known : Math.max(known, this.#state.value.total ?? known + 1)
  }

  /** How many books there are; undefined while that is unknown. */
  get count() {
    return this.isComplete || this.#state.value.total !== undefined ? this.length : undefined
  }

  /** @param {number} stored the service's count, which includes books whose deletion can still be undone. */
  setCount(stored) {
    const { pages } = this.#state.value
    const unshown = pages.reduce((sum, { ids }) => sum + ids.filter((id) => hidden.value.has(id)).length, 0)
    this.#set({ total: stored - unshown })
  }

  /** Whether all pages have been read. */
  get isComplete() {
    return this.#state.value.next === undefined
  }

  /** Whether books may be missing, because the service has not indexed all of them yet. */
  get isPartial() {
    return this.#state.value.isPartial
  }

  get error() {
    return this.#state.value.error
  }

  /** The rows around those last asked for whose books are in memory; `end` is not one of them. */
  get kept() {
    const placed = this.#placed.value
    let from = this.#indexOf(this.#rows.first)
    let to = from
    while (placed[from - 1]?.shown) from--
    while (placed[to + 1]?.shown) to++
    return { first: placed[from]?.start ?? 0, end: placed[to + 1]?.start ?? this.known }
  }

  /** @param {number} row @returns {Book | undefined} undefined while it is not in memory. */
  book(row) {
    const page = this.#placed.value[this.#indexOf(row)]
    return page?.shown?.[row - page.start]
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
    const mayRead = isRetry || this.error === undefined
    const placed = this.#placed.value
    const { pages } = this.#state.value
    if (placed.some((place) => place.shown && this.#isFar(place)))
      this.#set({
        pages: pages.map((page, index) =>
          this.#isFar(placed[index]) ? { ...page, books: undefined } : page,
        ),
      })
    for (let index = this.#indexOf(first); mayRead && index <= this.#indexOf(end); index++) {
      const { length = 0, shown } = placed[index] ?? {}
      const page = pages[index]
      if (page && length > 0 && shown === undefined && !this.#isFar(placed[index])) void this.#readAgain(page)
    }
    const wanted = end + PAGE_LENGTH / 2
    if (mayRead && wanted >= this.known) void this.#readNext(wanted)
  }

  /** Tries again after an error. `error` stays until there is a response. */
  retry() {
    this.reach(this.#rows.first, this.#rows.end, true)
    if (this.#reading.size > 0 || this.#coming !== undefined) return
    this.#set({ error: undefined })
    this.#changed()
  }

  /** The row of a book that has been read. @param {number} id */
  rowOf(id) {
    for (const { start, ids } of this.#placed.value) {
      const index = ids.indexOf(id)
      if (index >= 0) return start + index
    }
    return undefined
  }

  /** The row of a book; gives up after some `FAR` books. @param {number} id @returns {Promise<number | undefined>} */
  async find(id) {
    let row = this.rowOf(id)
    while (row === undefined && !this.isComplete && this.known < FAR) {
      if ((await this.#readNext(FAR)) === undefined) return undefined
      row = this.rowOf(id)
    }
    return row
  }

  /**
   * The books of these rows, which are read if they are not in memory.
   * @param {number} first @param {number} end @throws what `call` throws.
   */
  async read(first, end) {
    while (this.known < end && !this.isComplete) {
      if ((await this.#readNext(end)) === undefined) throw this.error ?? this.#abort.signal.reason
    }
    /** @type {Book[]} */
    const books = []
    const { pages } = this.#state.value
    for (const [index, { start, ids, length, shown }] of this.#placed.value.entries()) {
      if (start + length <= first || start >= end) continue
      const stored = shown ?? (await this.#fetch(pages[index]?.path ?? '')).books
      const found = new Map(stored.map((book) => [book.id, book]))
      const some = ids.flatMap((id) => found.get(id) ?? this.#edited.get(id) ?? [])
      books.push(...some.slice(Math.max(first - start, 0), end - start))
    }
    return books
  }

  /** Replaces the book of the same id. @param {Book} book */
  replace(book) {
    this.#edited.set(book.id, book)
    this.#set({
      pages: this.#state.value.pages.map((page) => ({
        ...page,
        books: page.books?.map((each) => (each.id === book.id ? book : each)),
      })),
    })
  }

  /** Removes books that no longer belong to the list. @param {readonly number[]} ids */
  remove(...ids) {
    const gone = new Set(ids)
    this.#set({
      pages: this.#state.value.pages.map((page) => ({
        ...page,
        books: page.books?.filter(({ id }) => !gone.has(id)),
        ids: page.ids.filter((id) => !gone.has(id)),
      })),
    })
  }

  stop() {
    this.#abort.abort()
  }

  /** @param {Partial<State>} change */
  #set(change) {
    this.#state.value = { ...this.#state.value, ...change }
  }

  /** @param {number} row */
  #indexOf(row) {
    const placed = this.#placed.value
    let [low, high] = [0, placed.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((placed[middle]?.start ?? 0) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  /** Whether rows are so far from those last asked for that their books are dropped. */
  #isFar({ start = 0, length = 0 } = {}) {
    return start + length < this.#rows.first - KEPT || start > this.#rows.end + KEPT
  }

  /** Finds out which books of each page are shown, and in which rows. */
  #place() {
    let start = 0
    const unshown = new Set(hidden.value)
    return this.#state.value.pages.map(({ ids: all, books }) => {
      const some = books?.filter(({ id }) => !unshown.has(id))
      const shown = some && (this.#duplicates?.alike(some) ?? some)
      const ids = shown ? idsOf(shown) : unshown.size === 0 ? all : all.filter((id) => !unshown.has(id))
      // An edited book may also be in a later page, to which it belongs now.
      if (this.#edited.size > 0) for (const id of all) if (this.#edited.has(id)) unshown.add(id)
      const placed = { start, ids, length: ids.length, shown }
      start += ids.length
      return placed
    })
  }

  /** @param {number} end @returns {Promise<Page | undefined>} */
  async #readNext(end) {
    const { next } = this.#state.value
    if (next === undefined) return
    const isFar = end - this.known > 2 * PAGE_LENGTH
    this.#coming ??= this.#readAfterLast(isFar ? longPage(next) : next)
    return this.#coming
  }

  /** @param {string} path @returns {Promise<Page | undefined>} */
  async #readAfterLast(path) {
    const response = await this.#fetch(path).catch((error) => ({ error }))
    if ('error' in response) {
      this.#coming = undefined
      return this.#failed(response.error)
    }
    const { books, isPartial, next = this.#parts.shift() } = response
    // A part may have no books.
    if (books.length === 0 && next !== undefined) {
      this.#set({ next, isPartial })
      return this.#readAfterLast(next)
    }
    this.#coming = undefined
    if (this.#abort.signal.aborted) return
    const page = { path, ids: idsOf(books), books }
    const isFar = this.#isFar({ start: this.known, length: books.length })
    const kept = isFar ? { ...page, books: undefined } : page
    this.#set({ pages: [...this.#state.value.pages, kept], next, isPartial, error: undefined })
    this.#changed()
    return page
  }

  /** @param {Page} page */
  async #readAgain({ path }) {
    if (this.#reading.has(path)) return
    this.#reading.add(path)
    const response = await this.#fetch(path).catch((error) => ({ error }))
    this.#reading.delete(path)
    if ('error' in response) return this.#failed(response.error)
    const { pages, next } = this.#state.value
    const index = pages.findIndex((each) => each.path === path)
    const page = pages[index]
    if (this.#abort.signal.aborted || page === undefined) return
    const { isPartial } = response
    const last = response.books.findLastIndex(({ id }) => page.ids.includes(id))
    // If some of its books are gone, the first ones of the next page follow.
    const isEnd = next === undefined && index === pages.length - 1
    const books = isEnd ? response.books : response.books.slice(0, last + 1)
    /** @type {Page[]} */
    const read = [{ path, ids: idsOf(books), books }]
    // If books were added before its last ones, these are now on the next page.
    const rest = page.ids.slice(page.ids.indexOf(books.at(-1)?.id ?? 0) + 1)
    if (last === response.books.length - 1 && response.next !== undefined && rest.length > 0)
      read.push({ path: response.next, ids: rest, books: undefined })
    this.#set({ pages: pages.toSpliced(index, 1, ...read), isPartial, error: undefined })
    this.#changed()
  }

  /** @param {unknown} error @returns {undefined} */
  #failed(error) {
    if (this.#abort.signal.aborted) return
    this.#set({ error })
    this.#changed()
  }

  /** @param {string} path */
  async #fetch(path) {
    const { signal } = this.#abort
    if (this.isOfDuplicates) this.#duplicates ??= await import('./duplicates.js')
    const headers = { accept: this.#duplicates ? 'application/x-ndjson' : 'application/json' }
    const response = await call('GET', path, { signal, headers })
    /** @type {Book[]} */
    const books = (await this.#duplicates?.readDuplicates(response, signal)) ?? (await response.json()).data
    return { books, next: nextPath(response), isPartial: this.isPartial || isPartial(response) }
  }
}

/**
 * The paths of the lists that are shown one after another. Sorted by year, books of an unknown year come last: the year
 * 0, which the service sorts between 1 BC and AD 1.
 * @param {URLSearchParams} parameters of GET /books.
 */
function partsOf(parameters) {
  const sort = parameters.get('sort') ?? ''
  const limit = (/** @type {string} */ name) => Number(parameters.get(name) ?? Number.NaN)
  const [min, max] = [limit('year_min'), limit('year_max')]
  if (!/^-?year$/.test(sort) || min > 0 || max < 0) return [`/books?${parameters}`]
  const known = [...(min === 0 ? [] : [{ year_max: '-1' }]), ...(max === 0 ? [] : [{ year_min: '1' }])]
  return [...(sort === 'year' ? known : known.reverse()), { year_min: '0', year_max: '0' }].map(
    (years) => `/books?${new URLSearchParams({ ...Object.fromEntries(parameters), ...years })}`,
  )
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

/** Reads a page of a list. @param {string} path @param {import('./service.js').Options} [options] */
export async function readPage(path, options) {
  const response = await call('GET', path, options)
  /** @type {{ data: Book[] }} */
  const { data } = await response.json()
  return { books: data, next: nextPath(response), isPartial: isPartial(response) }
}

/** How many books match a query. @param {string} query @param {AbortSignal} signal */
export async function countBooks(query, signal) {
  const response = await call('GET', `/books?${query}${query && '&'}limit=1&count=true`, { signal })
  return Number(response.headers.get('x-total-count'))
}

/** @param {Response} response */
const isPartial = ({ headers }) => headers.get('x-search-index') === 'incomplete'
