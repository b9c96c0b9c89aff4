import { DUPLICATES, filterOf, queryOf, readAddress, writeAddress } from './address.js'
import { rowsInSight, showFrom, toTop } from './list.js'
import { tell } from './notices.js'
import { BookPages, countBooks } from './pages.js'
import { selected } from './selection.js'
import { Away, Refused, wasAborted } from './service.js'
import { words } from './words.js'

/**
 * What the page lists: the view, its books as they come, how many they are, and where the list is scrolled to.
 *
 * @typedef {object} Listener
 * @property {() => void} draw
 * @property {() => void} arrived called when a list is there.
 * @property {() => void} changed called when the books or the filter have changed.
 */

/** How long typing has to pause before the service is asked, and before it counts; in milliseconds. */
const TYPING_PAUSE = 60
const COUNT_PAUSE = 500

/** How long to wait for books before the page says so, in milliseconds. */
const SLOW = 400

/** How long a list has been still before its place is remembered, in milliseconds. */
const STILL = 200

/** How long the page says where the list is once it is still, in milliseconds. */
const TOLD = 1500

/** How long to wait before asking a service again that is away, in milliseconds. */
const AWAY_PAUSE = 3000

export const EVERYTHING = { q: '', yearMin: '', yearMax: '', author: '' }

export let view = readAddress()
/** Those shown; while others are on their way, still the last ones. @type {BookPages} */
export let pages
export let isCounting = false
/** Whether the books that are coming take long. */
export let isSlow = false
/** The rows in sight, counted from 1, while the list is scrolled. @type {{ first: number, last: number } | undefined} */
export let sight

/** @type {Listener} */
let listener
/** The row from which a list is shown that the user comes back to. @type {number} */
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
/** Whether the service did not answer when it was last asked for books. */
let isAway = false

/** @param {Listener} each */
export function startListing(each) {
  listener = each
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => {
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

/** Shows the books of the view, from the first. @returns {BookPages} */
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

/** @param {BookPages} some whose books have come, or failed to. */
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
    // As cursors are after a restart with another key.
    if (pages.error instanceof Refused && pages.error.status === 400 && pages.length > 0) return void load()
    const wasAway = isAway
    isAway = pages.error !== undefined && !(pages.error instanceof Refused)
    clearTimeout(retrying)
    if (isAway) retrying = setTimeout(() => pages.retry(), AWAY_PAUSE)
    else if (wasAway) changed()
    // They may not fill a tall window, in which nothing can be scrolled.
    drawRows()
  }
}

/** Draws the rows that are now in sight. */
export function drawRows() {
  const { first, end } = rowsInSight(pages.length)
  pages.reach(first, end)
  listener.draw()
}

/** @param {BookPages} some @param {number} row */
async function goBackTo(some, row) {
  if (row === 0) return
  await reading(some.read(row, row + 1))
  // Unless the user has scrolled meanwhile.
  if (some === pages && rowsInSight(some.length).top === 0) showFrom(row, some.length, drawRows)
}

/** Remembers where the list is, so that it is there when the user comes back to it. */
function keepPlace() {
  clearTimeout(placing)
  placing = undefined
  if (pages !== undefined) history.replaceState({ row: rowsInSight(pages.length).top }, '')
}

export function scrolled() {
  if (pages === undefined) return
  const { top, inSight } = rowsInSight(pages.length)
  sight = top === 0 ? undefined : { first: top + 1, last: Math.min(top + inSight, pages.length) }
  clearTimeout(telling)
  telling = setTimeout(() => {
    sight = undefined
    listener.draw()
  }, TOLD)
  drawRows()
  clearTimeout(placing)
  placing = setTimeout(keepPlace, STILL)
}

/** Counts what the list and the charts show, after books were changed or the service was away. */
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

/** Has the list as high as all its books are, with the same ones in sight. @param {number} stored */
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

/** Whether a list is shown, and no other one is searched for. @param {BookPages} some */
export const isCurrent = (some) => some === pages && some.query === queryOf(view)

/** Reads the list to its end if only that tells where it is. */
export async function findEnd() {
  if (pages.count !== undefined) return
  isSlow = true
  listener.draw()
  await reading(pages.read(Infinity, Infinity))
  isSlow = false
  listener.draw()
}

/** Says why books cannot be read. @template T @param {Promise<T>} work @returns {Promise<T | undefined>} */
export const reading = (work) =>
  work.catch((error) => {
    if (!wasAborted(error))
      tell({ text: error instanceof Away ? words.moment(error.message) : error.message })
    return undefined
  })
