import { effect, untracked } from '@preact/signals-core'
import { html, nothing } from 'lit-html'
import { reactive } from './dialog.js'
import { oneLine, readYear } from './fields.js'
import { countBooks } from './pages.js'
import { Away, call, wasAborted } from './service.js'
import { AWAY_PAUSE, change, filterOf, store } from './store.js'
import { books as count, words, yearText } from './words.js'

/**
 * @typedef {{ decades: { decade: number, books: number }[], authors: { author: string, books: number }[] }} Statistics
 * @typedef {{ books: number, first: number, last: number }} Bar the books of some years, which may have no end; without
 *   the year 0.
 * @typedef {{ bars: Bar[], unknown: number, authors: Statistics['authors'] }} Shown
 */

/** How many decades in a row have a bar of their own. */
const SPAN = 18

const MOST_AUTHORS = 8

/** The length at which the service cuts authors here, in characters. */
const CUT = 250

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' })

const state = reactive({
  shown: /** @type {Shown | undefined} */ (undefined),
  message: '',
  /** The bar of each list that Tab leads to: the last one, unless another had the focus. */
  stops: { decades: Number.POSITIVE_INFINITY, authors: 0 },
})

let abort = new AbortController()
/** What `store.changes` was when the statistics were read. */
let read = 0

effect(() => {
  const { changes, showsCharts } = store
  if (changes !== read) abort.abort()
  if (!showsCharts || changes === read) return
  read = changes
  abort = new AbortController()
  const { signal } = abort
  void untracked(() => readStatistics(filterOf(store.view), signal))
})

/** @param {string} filter @param {AbortSignal} signal */
async function readStatistics(filter, signal) {
  try {
    const response = await call('GET', `/books/statistics${filter && '?'}${filter}`, { signal })
    /** @type {{ data: Statistics }} */
    const { data } = await response.json()
    // Imports store 0 for an unknown year, which the service counts among the years 0 to 9.
    const hasUnknown = data.decades.some(({ decade }) => decade === 0)
    const unknown = hasUnknown ? await countBooks(`${filter}${filter && '&'}year=0`, signal) : 0
    const known = data.decades.map(({ decade, books }) => ({ decade, books: books - (decade ? 0 : unknown) }))
    if (signal.aborted) return
    state.message = ''
    state.shown = { bars: barsOf(known), unknown, authors: data.authors.slice(0, MOST_AUTHORS) }
    // Most books are of the last decades, which are at the end.
    document.querySelector('.decades')?.scrollTo({ left: Number.MAX_SAFE_INTEGER })
  } catch (error) {
    if (wasAborted(error)) return
    read = 0
    state.shown = undefined
    state.message = words.statistics.notCounted
    // The list may have all its books, and then does not notice that the service is back.
    if (error instanceof Away) setTimeout(() => signal.aborted || store.changes++, AWAY_PAUSE)
  }
}

/**
 * A bar for each of the `SPAN` decades that together have the most books, even if it has none; and one for all before,
 * one for all after them, if there are any. No bar is of years on both sides of 0, because books of an unknown year
 * would be found between them.
 * @param {Statistics['decades']} decades ascending. @returns {Bar[]}
 */
function barsOf(decades) {
  const some = decades.filter(({ books }) => books > 0)
  const sum = (/** @type {Statistics['decades']} */ part) =>
    part.reduce((total, { books }) => total + books, 0)
  const within = (/** @type {number} */ first) =>
    some.filter(({ decade }) => decade >= first && decade < first + 10 * SPAN)
  const most = some
    .map(({ decade }) => within(decade))
    .reduce((best, part) => (sum(part) >= sum(best) ? part : best), [])
  const [first = 0, last = 0] = [most[0]?.decade, most.at(-1)?.decade]
  /** @returns {Bar[]} */
  const far = (/** @type {number} */ first, /** @type {number} */ last) => {
    const books = sum(some.filter(({ decade }) => decade >= first && decade <= last))
    return books > 0 ? [{ books, first: first || 1, last }] : []
  }
  return [
    ...far(-Infinity, Math.min(first, 0) - 1),
    ...far(0, first - 1),
    ...Array.from({ length: most.length && (last - first) / 10 + 1 }, (_, index) => {
      const decade = first + 10 * index
      const books = most.find((each) => each.decade === decade)?.books ?? 0
      return { books, first: decade, last: decade + 9 }
    }),
    ...far(last + 10, -1),
    ...far(Math.max(last + 10, 0), Infinity),
  ]
}

export function charts() {
  const { shown, message } = state
  return html`
    <p class="error" role="alert">${message}</p>
    ${
      shown === undefined
        ? nothing
        : shown.bars.length === 0 && shown.unknown === 0
          ? html`<p>${words.statistics.none}</p>`
          : html`${decades(shown)} ${authors(shown.authors)}`
    }
  `
}

/** Nothing if the service takes no such year. @param {number} year */
const typed = (year) => (Number.isSafeInteger(year) ? yearText(year) : '')

/** Lists the books that a bar counts: those of its years within the filter. @param {number} first @param {number} last */
function chooseYears(first, last) {
  const { yearMin, yearMax } = store.view
  const from = Math.max(first, readYear(yearMin) ?? first)
  const to = Math.min(last, readYear(yearMax) ?? last)
  change({ yearMin: typed(from), yearMax: typed(to) }, 'chosen')
}

/** @param {Shown} shown */
function decades({ bars, unknown }) {
  const most = Math.max(...bars.map(({ books }) => books))
  const stop = stopOf('decades', bars)
  return html`<section aria-labelledby="decades-title">
    <h2 id="decades-title">${words.statistics.decades}</h2>
    ${
      unknown === 0
        ? nothing
        : html`<button type="button" class="chip" @click=${() => chooseYears(0, 0)}>${words.statistics.unknown(unknown)}</button>`
    }
    <ol class="decades" @keydown=${move} @focusin=${enter('decades')}>
      ${bars.map(({ books, first, last }, index) => {
        const label = `${words.statistics.span(first, last)}: ${count(books)}`
        return html`<li>
          ${
            books === 0
              ? nothing
              : html`<button type="button" class="column" title=${label} aria-label=${label} tabindex=${index === stop ? 0 : -1} .style=${part(books, most)} @click=${() => chooseYears(first || 1, last)}>
                  <i data-books=${COMPACT.format(books)}></i>
                </button>`
          }
          <span class="scale" aria-hidden="true">${scaleText(first, last)}</span>
        </li>`
      })}
    </ol>
  </section>`
}

/** @param {Statistics['authors']} authors */
function authors(authors) {
  const most = Math.max(...authors.map(({ books }) => books))
  const stop = stopOf('authors', authors)
  return html`<section aria-labelledby="authors-title">
    <h2 id="authors-title">${words.statistics.authors}</h2>
    <ol class="authors" @keydown=${move} @focusin=${enter('authors')}>
      ${authors.map(({ author, books }, index) => {
        const bar = html`<bdi>${oneLine(author) || words.noAuthor}</bdi> <span>${count(books)}</span>`
        return html`<li .style=${part(books, most)}>
          ${
            !isFilter(author)
              ? html`<div class="bar">${bar}</div>`
              : html`<button type="button" class="bar" title=${author} tabindex=${index === stop ? 0 : -1} @click=${() => change({ author }, 'chosen')}>${bar}</button>`
          }
        </li>`
      })}
    </ol>
  </section>`
}

/** The length of a bar. The policy of the page forbids the attribute `style`, not the property. */
const part = (/** @type {number} */ books, /** @type {number} */ most) => `--part: ${books / most}`

/** Whether books can be listed by this author: the service has no filter for none, and may have cut a long one. */
const isFilter = (/** @type {string} */ author) => author !== '' && author.length < CUT

/**
 * The bar that Tab leads to; the arrow keys lead to the others. Empty bars, and those whose books cannot be listed, are no buttons.
 * @param {keyof typeof state.stops} name @param {readonly { books: number, author?: string }[]} bars
 */
function stopOf(name, bars) {
  const isButton = ({ books = 0, author = 'some' }) => books > 0 && isFilter(author)
  const index = Math.min(state.stops[name], bars.length - 1)
  return bars[index] && isButton(bars[index]) ? index : bars.findLastIndex(isButton)
}

/** Remembers which bar has the focus. @param {keyof typeof state.stops} name */
const enter = (name) => (/** @type {FocusEvent} */ event) => {
  const list = /** @type {HTMLElement} */ (event.currentTarget)
  const item = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (event.target).closest('li'))
  state.stops = { ...state.stops, [name]: Array.from(list.children).indexOf(item) }
}

/** Moves the focus from bar to bar. @param {KeyboardEvent} event */
function move(event) {
  /** @type {Record<string, number>} */
  const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -SPAN - 2, End: SPAN + 2 }
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  const buttons = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('button')]
  const to = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target)) + step
  buttons[Math.min(Math.max(to, 0), buttons.length - 1)]?.focus()
}

/** What the scale says below a bar: there is no space for every decade. */
const scaleText = (/** @type {number} */ first, /** @type {number} */ last) =>
  last - first > 9 ? words.statistics.far : first % 50 === 0 ? yearText(first) : ''
