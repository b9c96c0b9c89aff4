import { html, nothing } from 'lit-html'
import { call, wasAborted } from './service.js'

/**
 * @typedef {{ decades: { decade: number, books: number }[], authors: { author: string, books: number }[] }} Statistics
 * @typedef {{ chooseDecade(first: number): void, chooseAuthor(author: string): void, changed(): void }} Listener
 */

let isOpen = false
/** @type {Statistics | undefined} */
let statistics
let message = ''
/** What they are of. @type {string | undefined} */
let shown
let abort = new AbortController()

/** Counts anew if the charts are open, after the books or the filter have changed. @param {string} filter @param {() => void} changed */
export async function updateCharts(filter, changed) {
  abort.abort()
  shown = undefined
  if (!isOpen) return
  abort = new AbortController()
  const { signal } = abort
  shown = filter
  try {
    const response = await call('GET', `/books/statistics${filter && '?'}${filter}`, { signal })
    statistics = (await response.json()).data
    message = ''
  } catch (error) {
    if (wasAborted(error)) return
    shown = undefined
    statistics = undefined
    message = 'The books cannot be counted now.'
  }
  if (!signal.aborted) changed()
}

/**
 * The books by decade and by author; a bar is a button, so that the keyboard and a screen reader have it too.
 * @param {string} filter @param {Listener} listener
 */
export function charts(filter, { chooseDecade, chooseAuthor, changed }) {
  const toggle = (/** @type {Event} */ event) => {
    isOpen = /** @type {HTMLDetailsElement} */ (event.target).open
    if (isOpen && shown !== filter) void updateCharts(filter, changed)
  }
  return html`<details class="charts" @toggle=${toggle}>
    <summary>At a glance</summary>
    <p class="error" role="alert">${message}</p>
    ${statistics === undefined ? nothing : html`${decades(statistics, chooseDecade)} ${authors(statistics, chooseAuthor)}`}
  </details>`
}

/** @param {Statistics} statistics @param {(first: number) => void} choose */
function decades({ decades }, choose) {
  const most = Math.max(...decades.map(({ books }) => books))
  return html`<section aria-labelledby="decades-title">
    <h2 id="decades-title">Books by decade</h2>
    <ol class="decades" tabindex="0" aria-label="Decades">
      ${decades.map(
        ({ decade, books }) => html`<li>
          <button type="button" title="${decade}: ${count(books)}" aria-label="${decade}: ${count(books)}" @click=${() => choose(decade)}>
            ${bar(10, 100, 10, (100 * books) / most)}
            <span>${decade}</span>
          </button>
        </li>`,
      )}
    </ol>
  </section>`
}

/** @param {Statistics} statistics @param {(author: string) => void} choose */
function authors({ authors }, choose) {
  const most = Math.max(...authors.map(({ books }) => books))
  return html`<section aria-labelledby="authors-title">
    <h2 id="authors-title">Most frequent authors</h2>
    <ol class="authors" tabindex="0" aria-label="Authors">
      ${authors.map(
        ({ author, books }) => html`<li>
          <button type="button" ?disabled=${author === ''} @click=${() => choose(author)}>
            <span class="name" dir="auto">${author || '(no author)'}</span>
            ${bar(100, 10, (100 * books) / most, 10)}
            <span>${count(books)}</span>
          </button>
        </li>`,
      )}
    </ol>
  </section>`
}

/** A bar from the lower left corner. Sizes as attributes: the policy of the page forbids styles in elements. @param {number} width @param {number} height @param {number} barWidth @param {number} barHeight */
const bar = (width, height, barWidth, barHeight) => html`<svg
  viewBox="0 0 ${width} ${height}"
  preserveAspectRatio="none"
  aria-hidden="true"
>
  <rect y=${height - barHeight} width=${barWidth} height=${barHeight} />
</svg>`

/** @param {number} books */
const count = (books) => `${books.toLocaleString('en')} ${books === 1 ? 'book' : 'books'}`
