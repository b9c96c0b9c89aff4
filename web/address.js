import { readYear } from './text.js'

/**
 * What the list shows. The address contains it, so back, forward and shared links lead to the same view.
 *
 * @typedef {{ q: string, sort: string, yearMin: string, yearMax: string, author: string }} View the years as the user
 *   typed them.
 */

/** The value of `sort` that lists only likely duplicates. The service does not know it. */
export const DUPLICATES = 'duplicates'

/** @returns {View} */
export function readAddress() {
  const parameters = new URLSearchParams(location.search)
  const text = (/** @type {string} */ name) => parameters.get(name) ?? ''
  return {
    q: text('q'),
    sort: /^(-id|-?(title|author|year)|duplicates)$/.test(text('sort')) ? text('sort') : '',
    yearMin: text('year_min'),
    yearMax: text('year_max'),
    author: text('author'),
  }
}

/** Typed changes less than this apart, in milliseconds, share a history entry: one step back undoes a whole word. */
const ONE_STEP = 1500
let lastChange = Number.NEGATIVE_INFINITY

/** @param {View} view @param {'typed' | 'chosen'} how */
export function writeAddress(view, how) {
  const query = queryOf(view)
  const address = (query === '' ? location.pathname : `?${query}`) + location.hash
  const goesOn = how === 'typed' && performance.now() - lastChange < ONE_STEP
  lastChange = how === 'typed' ? performance.now() : Number.NEGATIVE_INFINITY
  if (goesOn) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
}

/** The parameters of GET /books, or `sort=duplicates`. The address has the same ones. @param {View} view */
export function queryOf({ q, sort, yearMin, yearMax, author }) {
  const parameters = new URLSearchParams()
  if (q.trim() !== '') parameters.set('q', q)
  if (author !== '') parameters.set('author', author)
  for (const [name, text] of /** @type {const} */ ([
    ['year_min', yearMin],
    ['year_max', yearMax],
  ])) {
    const year = readYear(text)
    if (year !== undefined) parameters.set(name, String(year))
  }
  if (sort !== '') parameters.set('sort', sort)
  return parameters.toString()
}

/** The parameters of GET /books/statistics. @param {View} view */
export const filterOf = (view) => queryOf({ ...view, sort: '' })

/** A book that is not stored yet. */
export const NEW = 'new'

/** What is open: the id in a link to a book, such as `/#book=5`, or `NEW` in `/#new`. @returns {number | typeof NEW | undefined} */
export function linked() {
  if (location.hash === `#${NEW}`) return NEW
  const id = /^#book=([1-9]\d*)$/.exec(location.hash)?.[1]
  return id === undefined ? undefined : Number(id)
}

/** Whether the step back that `nameLinked` has begun is under way, and what was opened since. */
let isStepping = false
/** @type {ReturnType<typeof linked>} */
let openedSince

/**
 * Names what is open in the address, so that the link can be copied and the back button closes it. When it is closed,
 * the address is again what it was before.
 * @param {ReturnType<typeof linked>} what
 */
export function nameLinked(what) {
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

addEventListener('popstate', () => {
  isStepping = false
  if (openedSince !== undefined) nameLinked(openedSince)
  openedSince = undefined
})
