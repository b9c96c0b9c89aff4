import { DUPLICATES, filterOf, queryOf, readAddress, writeAddress } from './address.js'
import { reveal, rowsInSight, showFrom, toTop } from './list.js'
import { tell } from './notices.js'
import { BookPages, countBooks, selected } from './pages.js'
import { Away, Refused, wasAborted } from './service.js'
import { words } from './words.js'

/**
 * The state of the list: the view, its books as they arrive, their number, and where it is scrolled to.
 *
 * @typedef {object} Listener
 * @property {() => void} draw
 * @property {() => void} arrived called when a new list is shown.
 * @property {() => void} changed called when the books or the filter have changed.
 */

/** How long typing has to pause before books are read, and how long counting them waits, in milliseconds. */
const TYPING_PAUSE = 60
const COUNT_PAUSE = 500

/** How long reading books may take before the web page says so, in milliseconds. */
const SLOW = 400

/** How long the list has to be still before its place is remembered, in milliseconds. */
const STILL = 200

/** How long the rows in sight are named after the last scrolling, in milliseconds. */
const TOLD = 1500

/** How long to wait before asking an unavailable service again, in milliseconds. */
const AWAY_PAUSE = 3000

export const EVERYTHING = { q: '', yearMin: '', yearMax: '', author: '' }

export let view = readAddress()
/** The books that are shown; until those of a new view arrive, still the previous ones. @type {BookPages} */
export let pages
export let isCounting = false
/** Whether reading books takes long. */
export let isSlow = false
/** The rows in sight while the list scrolls, from 1. @type {{ first: number, last: number } | undefined} */
export let sight

/** @type {Listener} */
let listener
/** The row to scroll to when the user comes back to a list. @type {number} */
let place = history.state?.row ?? 0
/** @type {ReturnType<typeof setTimeout> | undefined} */
let placing
/** @type {ReturnType<typeof setTimeout> | undefined} */
let telling
/** @type {BookPages | undefined} */
let coming
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retrying
let counting = new AbortController()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let slowTimer
/** Whether the service did not answer the last request for books. */
let isAway = false

/** @param {Listener} each */
export function startListing(each) {
  listener = each
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => {
    // Only a book was opened or closed.
    if (queryOf(readAddress()) === queryOf(view)) return scrolled()
    clearTimeout(placing)
    placing = undefined
    place = state?.row ?? 0
    view = readAddress()
    selected.clear()
    listener.draw()
    load()
  })
  for (const type of ['resize', 'scroll']) addEventListener(type, scrolled)
  load()
}

export const redraw = () => listener.draw()

/** Reads the books of the view from the first, and shows them when they arrive. @returns {BookPages} */
export function load() {
  coming?.stop()
  counting.abort()
  const next = new BookPages(queryOf(view), () => arrived(next))
  coming = next
  clearTimeout(slowTimer)
  slowTimer = setTimeout(() => {
    isSlow = coming === next
    listener.draw()
  }, SLOW)
  next.reach(0, 0)
  listener.changed()
  return next
}

/** @param {BookPages} some of which books have arrived, or could not be read. */
function arrived(some) {
  if (some === coming) {
    if (pages !== some) pages?.stop()
    pages = some
    coming = undefined
    clearTimeout(slowTimer)
    isSlow = false
    listener.draw()
    toTop()
    void goBackTo(pages, place)
    place = 0
    if (pages.error === undefined) countAgain()
    listener.arrived()
  }
  if (some === pages) {
    // The service refuses its cursors after a restart with another secret.
    if (pages.error instanceof Refused && pages.error.status === 400 && pages.length > 0) return void load()
    const wasAway = isAway
    isAway = pages.error !== undefined && !(pages.error instanceof Refused)
    clearTimeout(retrying)
    if (isAway) retrying = setTimeout(() => pages.retry(), AWAY_PAUSE)
    else if (wasAway) changed()
    // They may not fill a tall window, where scrolling, which reads more, is impossible.
    drawRows()
  }
}

/** Draws the rows that are now in sight, and reads those that are missing. */
export function drawRows() {
  const { first, end } = rowsInSight(pages.length)
  pages.reach(first, end)
  listener.draw()
}

/** @param {BookPages} some @param {number} row */
async function goBackTo(some, row) {
  if (row === 0) return
  // With the rows below it: the list has to be high enough to scroll there.
  await reading(some.read(row, row + rowsInSight(some.length).inSight + 1))
  // Unless the user has scrolled meanwhile.
  if (some === pages && rowsInSight(some.length).top === 0) showFrom(row, some.length, drawRows)
}

/** Remembers in the history where the list is scrolled to, so that back, forward and a reload lead there. */
function keepPlace() {
  clearTimeout(placing)
  placing = undefined
  if (pages !== undefined) history.replaceState({ ...history.state, row: rowsInSight(pages.length).top }, '')
}

export function scrolled() {
  if (pages === undefined) return
  const { top, inSight } = rowsInSight(pages.length)
  sight =
    top === 0 ? undefined : { first: top + 1, last: Math.min(top + inSight, pages.count ?? pages.known) }
  clearTimeout(telling)
  telling = setTimeout(() => {
    sight = undefined
    listener.draw()
  }, TOLD)
  drawRows()
  clearTimeout(placing)
  placing = setTimeout(keepPlace, STILL)
}

/** Counts the books of the list and the charts again, after books were changed or the service was unavailable. */
export function changed() {
  countAgain()
  listener.changed()
}

export function countAgain() {
  counting.abort()
  counting = new AbortController()
  isCounting = !pages.isComplete
  if (isCounting) void countLater(counting.signal)
}

/** @param {AbortSignal} signal */
async function countLater(signal) {
  for (let pause = COUNT_PAUSE; ; pause = Math.max(2 * pause, AWAY_PAUSE)) {
    await new Promise((resolve) => setTimeout(resolve, pause))
    if (signal.aborted) return
    try {
      return setCount(await countBooks(queryOf(view), signal))
    } catch (error) {
      if (wasAborted(error)) return
      if (error instanceof Refused) {
        isCounting = false
        return listener.draw()
      }
    }
  }
}

/** Gives the list the height of all its books, and keeps the same rows in sight. @param {number} stored */
function setCount(stored) {
  const { top, scale } = rowsInSight(pages.length)
  pages.setCount(stored)
  drawRows()
  if (top > 0 && rowsInSight(pages.length).scale !== scale) showFrom(top, pages.length, drawRows)
}

/** @param {Partial<typeof view>} change @param {'typed' | 'chosen'} how */
export function change(change, how) {
  const filter = filterOf(view)
  view = { ...view, ...change }
  if (filterOf(view) !== filter || view.sort === DUPLICATES) selected.clear()
  if (placing !== undefined) keepPlace()
  place = 0
  writeAddress(view, how)
  counting.abort()
  clearTimeout(timer)
  timer = setTimeout(load, how === 'typed' ? TYPING_PAUSE : 0)
  listener.draw()
}

export const showAll = () =>
  change({ ...EVERYTHING, sort: view.sort === DUPLICATES ? '' : view.sort }, 'chosen')

/** Whether a list is shown, and is still that of the view. @param {BookPages} some */
export const isCurrent = (some) => some === pages && some.query === queryOf(view)

/** Reads the list to its end, unless the number of its books is known. */
export async function findEnd() {
  if (pages.count !== undefined) return
  isSlow = true
  listener.draw()
  await reading(pages.read(Infinity, Infinity))
  isSlow = false
  listener.draw()
}

/** The book before or after another one in the list, which is scrolled to it. @param {number} id @param {1 | -1} step */
export async function neighbour(id, step) {
  const row = await pages.find(id)
  if (row === undefined || row + step < 0) return undefined
  const [book] = (await reading(pages.read(row + step, row + step + 1))) ?? []
  if (book !== undefined) reveal(row + step, pages.length, drawRows)
  return book
}

/** Says why books could not be read. @template T @param {Promise<T>} work @returns {Promise<T | undefined>} */
export const reading = (work) =>
  work.catch((error) => {
    if (!wasAborted(error))
      tell({ text: error instanceof Away ? words.moment(error.message) : error.message })
    return undefined
  })
