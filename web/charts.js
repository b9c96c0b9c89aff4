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
/** What they are of. @type {string | undefined} */
let shown
let abort = new AbortController()
/** What draws them, once it has been loaded. @type {typeof import('./plot.js') | undefined} */
let plot
/** What is drawn, and how wide. @type {{ statistics?: Statistics, width?: number }} */
let drawn = {}

/** Counts anew if the charts are open, after the books or the filter have changed. @param {string} filter @param {() => void} changed */
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
      // Most visits do not need it.
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

/** Counts when the charts are opened. @param {boolean} isIt @param {string} filter @param {() => void} changed */
export function openCharts(isIt, filter, changed) {
  isOpen = isIt
  if (isOpen && shown !== filter) void updateCharts(filter, changed)
}

/**
 * The books by decade and by author. On each bar of the drawing lies a button, so that the mouse, the keyboard and a
 * screen reader have it.
 * @param {Listener} listener
 */
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

/** Draws the bars below the buttons, if they or the space for them have changed. */
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
  // Most books are of the last decades.
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

/** A year in the space that a bar has. @param {number} year */
const yearText = (year) =>
  Math.abs(year) < 100_000
    ? typeYear(year)
    : new Intl.NumberFormat('en', { notation: 'compact' }).format(year)
