import { batch } from '@preact/signals-core'
import { reactive, tell } from './dialog.js'
import { readYear } from './fields.js'
import { BookPages, countBooks, DUPLICATES } from './pages.js'
import { Away, Refused, wasAborted } from './service.js'
import { words } from './words.js'

/**
 * What the page shows: the view, which the address contains, so that back, forward and shared links lead to the same
 * one; its books as they arrive; their number; the selection.
 *
 * @typedef {import('./fields.js').Book} Book
 * @typedef {{ q: string, sort: string, yearMin: string, yearMax: string, author: string }} View the years as the user
 *   typed them.
 */

/** How long typing has to pause before books are read, and how long counting them waits, in milliseconds. */
const TYPING_PAUSE = 60
const COUNT_PAUSE = 500

/** How long reading books may take before the web page says so, in milliseconds. */
const SLOW = 400

/** How long the list has to be still before its place is remembered, in milliseconds. */
const STILL = 200

/** How long to wait before asking an unavailable service again, in milliseconds. */
export const AWAY_PAUSE = 3000

/** Typed changes less than this apart, in milliseconds, share a history entry: one step back undoes a whole word. */
const ONE_STEP = 1500

/** The most books that can be selected: actions take one or two requests for each. */
export const MOST = 10_000

/** A book that is not stored yet. */
export const NEW = 'new'

export const EVERYTHING = { q: '', yearMin: '', yearMax: '', author: '' }

export const store = reactive({
  view: readAddress(),
  /** The books that are shown; until those of a new view arrive, still the previous ones. */
  pages: /** @type {BookPages} */ (/** @type {unknown} */ (undefined)),
  /** The selected books by id, as they were listed. */
  selected: /** @type {ReadonlyMap<number, Book>} */ (new Map()),
  /** What is open, as the address names it. */
  opened: linked(),
  /** The id of the book that was added last. */
  marked: /** @type {number | undefined} */ (undefined),
  isCounting: false,
  /** Whether reading books takes long. */
  isSlow: false,
  showsCharts: false,
  /** Is another number after each change of the books or the filter. */
  changes: 0,
})

/** The first row in sight, once the user has scrolled. */
let top = 0
let placing = 0
/** @type {BookPages | undefined} */
let coming
let timer = 0
let retrying = 0
let slowTimer = 0
let counting = new AbortController()
/** Whether the last request for books has failed. */
let hasFailed = false
/** When the search or a filter was last typed into, by the clock of `performance`. */
let lastTyped = Number.NEGATIVE_INFINITY

/** Whether the step back that `nameLinked` has begun is under way, and what was opened since. */
let isStepping = false
/** @type {ReturnType<typeof linked>} */
let openedSince

export function startStore() {
  history.scrollRestoration = 'manual'
  addEventListener('popstate', () => {
    isStepping = false
    if (openedSince !== undefined) nameLinked(openedSince)
    openedSince = undefined
    store.opened = linked()
    // Only a book was opened or closed.
    if (addressOf(readAddress()) === addressOf(store.view)) return keepPlace(top)
    clearTimeout(placing)
    placing = 0
    show(readAddress())
    load(history.state?.row)
  })
  load(history.state?.row)
}

/** @param {Iterable<Book>} books @param {boolean} [isOnly] whether no others stay selected. */
export function select(books, isOnly = false) {
  const selected = new Map(isOnly ? [] : store.selected)
  for (const book of books) selected.set(book.id, book)
  if (selected.size > 0 || store.selected.size > 0) store.selected = selected
}

/** @param {Iterable<number>} ids */
export function deselect(ids) {
  const selected = new Map(store.selected)
  for (const id of ids) selected.delete(id)
  if (selected.size < store.selected.size) store.selected = selected
}

/** Reads the books of the view from the first, and shows them when they arrive. @param {number} [row] to scroll to. */
export function load(row = 0) {
  clearTimeout(timer)
  coming?.stop()
  counting.abort()
  const next = new BookPages(queryOf(store.view), row, () => arrived(next))
  coming = next
  clearTimeout(slowTimer)
  slowTimer = setTimeout(() => {
    store.isSlow = coming === next
  }, SLOW)
  next.reach(0, 0)
  store.changes++
  return next
}

/** @param {BookPages} some of which books have arrived, or could not be read. */
function arrived(some) {
  if (some === coming) {
    coming = undefined
    clearTimeout(slowTimer)
    store.pages?.stop()
    batch(() => {
      store.pages = some
      store.isSlow = false
      if (some.error === undefined) countAgain()
    })
  }
  if (some !== store.pages) return
  // The service refuses its cursors after a restart with another secret.
  if (some.error instanceof Refused && some.error.status === 400 && some.length > 0) return void load(top)
  const hadFailed = hasFailed
  hasFailed = some.error !== undefined
  clearTimeout(retrying)
  if (hadFailed && !hasFailed) changed()
  if (hasFailed && !(some.error instanceof Refused))
    retrying = setTimeout(() => store.pages.retry(), AWAY_PAUSE)
}

/**
 * Remembers in the history where the list is scrolled to, so that back, forward and a reload lead there.
 * @param {number} row
 */
export function keepPlace(row) {
  top = row
  clearTimeout(placing)
  placing = setTimeout(writePlace, STILL)
}

function writePlace() {
  clearTimeout(placing)
  placing = 0
  history.replaceState({ ...history.state, row: top }, '')
}

/** Counts the books of the list and the charts again, after books were changed or the service was unavailable. */
export function changed() {
  countAgain()
  store.changes++
}

export function countAgain() {
  counting.abort()
  counting = new AbortController()
  store.isCounting = store.pages?.isComplete === false
  if (store.isCounting) void countLater(counting.signal)
}

/** @param {AbortSignal} signal */
async function countLater(signal) {
  for (let pause = COUNT_PAUSE; ; pause = Math.min(2 * pause, AWAY_PAUSE)) {
    await new Promise((resolve) => setTimeout(resolve, pause))
    if (signal.aborted) return
    try {
      return store.pages.setCount(await countBooks(queryOf(store.view), signal))
    } catch (error) {
      if (wasAborted(error)) return
      if (error instanceof Refused) {
        store.isCounting = false
        return
      }
    }
  }
}

/** Another filter ends the selection. @param {View} view */
function show(view) {
  const before = filterOf(store.view)
  batch(() => {
    store.view = view
    if (filterOf(view) !== before || view.sort === DUPLICATES) select([], true)
  })
}

/** @param {Partial<View>} change @param {'typed' | 'chosen'} how */
export function change(change, how) {
  if (placing !== 0) writePlace()
  show({ ...store.view, ...change })
  writeAddress(how)
  counting.abort()
  clearTimeout(timer)
  timer = setTimeout(load, how === 'typed' ? TYPING_PAUSE : 0)
}

/** The order by default is not kept, so that a search has the best match first. @param {string} sort */
export const sortBy = (sort) => change({ sort: sort === orderOf(store.view.q) ? '' : sort }, 'chosen')

export const showAll = () =>
  change({ ...EVERYTHING, sort: store.view.sort === DUPLICATES ? '' : store.view.sort }, 'chosen')

/** Whether a list is shown, and is still that of the view. @param {BookPages} some */
export const isCurrent = (some) => some === store.pages && some.query === queryOf(store.view)

/** Reads the list to its end, unless the number of its books is known. */
export async function findEnd() {
  if (store.pages.count !== undefined) return
  store.isSlow = true
  await readRows(Infinity, Infinity)
  store.isSlow = false
}

/** Says why books could not be read. @template T @param {Promise<T>} work @returns {Promise<T | undefined>} */
export const reading = (work) =>
  work.catch((error) => {
    if (!wasAborted(error))
      tell({ text: error instanceof Away ? words.moment(error.message) : error.message })
    return undefined
  })

/**
 * The books of these rows of the list; says why they could not be read. The service refuses its cursors after a restart
 * with another secret. Then the list is read from its beginning.
 * @param {number} first @param {number} end
 */
export function readRows(first, end) {
  const { pages } = store
  const again = (/** @type {unknown} */ error) => {
    if (!(error instanceof Refused) || error.status !== 400 || !isCurrent(pages)) throw error
    return load(top).read(first, end)
  }
  return reading(pages.read(first, end).catch(again))
}

/** @returns {View} */
function readAddress() {
  const parameters = new URLSearchParams(location.search)
  const text = (/** @type {string} */ name) => parameters.get(name) ?? ''
  return {
    q: text('q'),
    sort: /^(-?(id|title|author|year)|duplicates)$/.test(text('sort')) ? text('sort') : '',
    yearMin: text('year_min'),
    yearMax: text('year_max'),
    author: text('author'),
  }
}

/** @param {'typed' | 'chosen'} how */
function writeAddress(how) {
  const query = addressOf(store.view)
  const address = (query === '' ? location.pathname : `?${query}`) + location.hash
  const goesOn = how === 'typed' && performance.now() - lastTyped < ONE_STEP
  lastTyped = how === 'typed' ? performance.now() : Number.NEGATIVE_INFINITY
  if (goesOn || new URL(address, location.href).href === location.href)
    history.replaceState(null, '', address)
  else history.pushState(null, '', address)
}

/** The parameters in the address of the page, which omits the order by default. @param {View} view */
export function addressOf({ q, sort, yearMin, yearMax, author }) {
  const [from, to] = [readYear(yearMin), readYear(yearMax)]
  return new URLSearchParams({
    ...(q.trim() !== '' && { q }),
    ...(author !== '' && { author }),
    ...(from !== undefined && { year_min: String(from) }),
    ...(to !== undefined && { year_max: String(to) }),
    ...(sort !== '' && { sort }),
  }).toString()
}

/** The order of a list by default: the best match of a search, or the newest first. @param {string} q */
export const orderOf = (q) => (q.trim() === '' ? '-id' : '')

/** The parameters of GET /books, or `sort=duplicates`. @param {View} view */
export const queryOf = (view) => addressOf({ ...view, sort: view.sort || orderOf(view.q) })

/** The parameters of GET /books/statistics. @param {View} view */
export const filterOf = (view) => addressOf({ ...view, sort: '' })

/** The id in a link to a book, such as `/#book=5`, or `NEW` in `/#new`. @returns {number | typeof NEW | undefined} */
export function linked() {
  if (location.hash === `#${NEW}`) return NEW
  const id = /^#book=([1-9]\d*)$/.exec(location.hash)?.[1]
  return id === undefined ? undefined : Number(id)
}

/**
 * Names what is open in the address, so that the link can be copied and the back button closes it. When it is closed,
 * the address is again what it was before.
 * @param {ReturnType<typeof linked>} what
 */
export function nameLinked(what) {
  store.opened = what
  if (isStepping) openedSince = what
  else if (what !== linked()) {
    const { pathname, search } = location
    const address = pathname + search + (what === undefined ? '' : what === NEW ? `#${NEW}` : `#book=${what}`)
    if (what === undefined && history.state?.isOpen) {
      isStepping = true
      history.back()
    } else if (what === undefined || linked() !== undefined) history.replaceState(history.state, '', address)
    else history.pushState({ ...history.state, isOpen: true }, '', address)
  }
}
