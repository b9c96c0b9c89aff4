import { html, nothing } from 'lit-html'
import { call, wasAborted } from './service.js'
import { typeYear } from './text.js'
import { books as count, words } from './words.js'

/**
 * @typedef {{ decades: { decade: number, books: number }[], authors: { author: string, books: number }[] }} Statistics
 * @typedef {{ chooseDecade(first: number): void, chooseAuthor(author: string): void }} Listener
 */

let isOpen = false
/** @type {Statistics | undefined} */
let statistics
let message = ''
/** The filter of the statistics; undefined if they have to be read again. @type {string | undefined} */
let shown
let abort = new AbortController()
/** The module that draws the bars, once it has been loaded. @type {typeof import('./plot.js') | undefined} */
let plot
/** The statistics that are drawn, and the width in pixels. @type {{ statistics?: Statistics, width?: number }} */
let drawn = {}

/** Reads the statistics again if the charts are open. @param {string} filter @param {() => void} changed */
export async function updateCharts(filter, changed) {
  abort.abort()
  shown = undefined
  if (!isOpen) return
  abort = new AbortController()
  const { signal } = abort
  shown = filter
  try {
    const [response, loaded] = await Promise.all([
      call('GET', `/books/statistics${filter && '?'}${filter}`, { signal }),
      // Loaded only now, because most visits do not need it.
      import('./plot.js'),
    ])
    statistics = (await response.json()).data
    plot = loaded
    message = ''
  } catch (error) {
    if (wasAborted(error)) return
    shown = undefined
    statistics = undefined
    message = error instanceof TypeError ? words.statistics.notLoaded : words.statistics.notCounted
  }
  if (!signal.aborted) changed()
}

/** @param {boolean} isIt @param {string} filter @param {() => void} changed */
export function openCharts(isIt, filter, changed) {
  isOpen = isIt
  if (isOpen && shown !== filter) void updateCharts(filter, changed)
}

/** On each bar lies a button: the keyboard and screen readers cannot use a canvas. @param {Listener} listener */
export const charts = ({ chooseDecade, chooseAuthor }) => html`
  <p class="error" role="alert">${message}</p>
  ${
    statistics === undefined
      ? nothing
      : statistics.decades.length === 0
        ? html`<p>${words.statistics.none}</p>`
        : html`<div class="both">${decades(statistics, chooseDecade)} ${authors(statistics, chooseAuthor)}</div>`
  }
`

/** Draws the bars below the buttons, if the statistics or the available width have changed. */
export function drawCharts() {
  const [columns, rows] = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.charts .plot'))
  const width = columns?.parentElement?.clientWidth ?? 0
  if (!plot || !statistics || !columns || !rows || width === 0) return
  if (drawn.statistics === statistics && drawn.width === width) return
  drawn = { statistics, width }
  const { decades, authors } = statistics
  const inner = plot.drawColumns(
    columns,
    decades.map(({ decade }) => yearText(decade)),
    decades.map(({ books }) => books),
    width,
  )
  columns.parentElement?.style.setProperty('--inner', `${inner}px`)
  // Most books are from the last decades, which are at the end.
  columns.parentElement?.scrollTo(columns.parentElement.scrollWidth, 0)
  const names = Math.min(width * 0.42, 240)
  rows.parentElement?.style.setProperty('--names', `${names}px`)
  plot.drawRows(
    rows,
    authors.map(({ books }) => books),
    width,
    names,
  )
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  drawn = {}
  drawCharts()
})

/** @param {Statistics} statistics @param {(first: number) => void} choose */
const decades = ({ decades }, choose) => html`<section aria-labelledby="decades-title">
  <h2 id="decades-title">${words.statistics.decades}</h2>
  <div class="decades">
    <div class="plot" aria-hidden="true"></div>
    <ol>
      ${decades.map(({ decade, books }) => {
        const label = `${typeYear(decade)}: ${count(books)}`
        return html`<li><button type="button" title=${label} aria-label=${label} @click=${() => choose(decade)}></button></li>`
      })}
    </ol>
  </div>
</section>`

/** @param {Statistics} statistics @param {(author: string) => void} choose */
const authors = ({ authors }, choose) => html`<section aria-labelledby="authors-title">
  <h2 id="authors-title">${words.statistics.authors}</h2>
  <div class="authors">
    <div class="plot" aria-hidden="true"></div>
    <ol>
      ${authors.map(
        ({ author, books }) => html`<li>
          <button type="button" title=${author} ?disabled=${author === ''} @click=${() => choose(author)}>
            <span class="name" dir="auto">${author || words.noAuthor}</span>
            <span>${count(books)}</span>
          </button>
        </li>`,
      )}
    </ol>
  </div>
</section>`

/** A year that fits the width of a bar. @param {number} year */
const yearText = (year) =>
  Math.abs(year) < 100_000
    ? typeYear(year)
    : new Intl.NumberFormat('en', { notation: 'compact' }).format(year)
