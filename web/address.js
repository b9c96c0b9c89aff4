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
  const address = query === '' ? location.pathname : `?${query}`
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

/** The id in a link to a book, such as `/#book=5`. */
export function linkedBook() {
  const id = /^#book=([1-9]\d*)$/.exec(location.hash)?.[1]
  return id === undefined ? undefined : Number(id)
}

/** Names the open book in the address, so that the link can be copied. @param {number | undefined} id */
export function nameBook(id) {
  const hash = id === undefined ? '' : `#book=${id}`
  if (location.hash !== hash)
    history.replaceState(history.state, '', location.pathname + location.search + hash)
}
