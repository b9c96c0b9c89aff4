import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { filterOf, queryOf, readAddress, writeAddress } from './address.js'
import { charts, drawCharts, updateCharts } from './charts.js'
import { hidden } from './deletions.js'
import { addBook, editBook, startEditor } from './editor.js'
import { exportBooks } from './export.js'
import { bookTable, placeRows, rowsInSight } from './list.js'
import { logOut, startLogin } from './login.js'
import { BookPages, countBooks } from './pages.js'
import { Refused, wasAborted } from './service.js'
import { chooseFile, startTransfer } from './transfer.js'

/** How long typing has to pause before the service is asked, and before it counts; in milliseconds. */
const TYPING_PAUSE = 80
const COUNT_PAUSE = 500

/** How long to wait before asking a service again that is away, in milliseconds. */
const AWAY_PAUSE = 3000

let view = readAddress()
/** Those shown; while others are on their way, still the last ones. @type {BookPages} */
let pages
/** @type {BookPages | undefined} */
let coming
/** @type {number | undefined} */
let count
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retrying
let counting = new AbortController()
/** Whether the service did not answer when it was last asked for books. */
let isAway = false

/** Shows the books of the view, from the first. */
function load() {
  coming?.stop()
  counting.abort()
  const next = new BookPages(queryOf(view), hidden, () => arrived(next))
  coming = next
  next.reach(0, 0)
  void updateCharts(filterOf(view), draw)
}

/** @param {BookPages} some whose books have come, or failed to. */
function arrived(some) {
  if (some === coming) {
    if (pages !== some) pages?.stop()
    pages = some
    coming = undefined
    count = pages.isComplete ? pages.length : undefined
    draw()
    document.querySelector('.rows')?.scrollTo(0, 0)
    if (!pages.isComplete && pages.error === undefined) void countLater()
  }
  if (some === pages) {
    // As cursors are after a restart with another key.
    if (pages.error instanceof Refused && pages.error.status === 400 && pages.length > 0) return load()
    const wasAway = isAway
    isAway = pages.error !== undefined && !(pages.error instanceof Refused)
    clearTimeout(retrying)
    if (isAway) retrying = setTimeout(() => pages.retry(), AWAY_PAUSE)
    else if (wasAway) countAgain()
    // They may not fill a tall window, in which nothing can be scrolled.
    drawRows()
  }
}

/** What could not be counted while the service was away. */
function countAgain() {
  if (pages.isComplete) count = pages.length
  else if (count === undefined) void countLater()
  void updateCharts(filterOf(view), draw)
}

async function countLater() {
  counting.abort()
  counting = new AbortController()
  const { signal } = counting
  await new Promise((resolve) => setTimeout(resolve, COUNT_PAUSE))
  if (signal.aborted) return
  try {
    count = await countBooks(queryOf(view), signal)
    draw()
  } catch (error) {
    if (!wasAborted(error)) count = undefined
  }
}

/** @param {Partial<typeof view>} change @param {'typed' | 'chosen'} how */
function change(change, how) {
  view = { ...view, ...change }
  writeAddress(view, how)
  counting.abort()
  clearTimeout(timer)
  timer = setTimeout(load, how === 'typed' ? TYPING_PAUSE : 0)
  draw()
}

/** Ascending, then descending, then as the service has them. @param {import('./list.js').Column} column */
function sortBy(column) {
  change({ sort: view.sort === column ? `-${column}` : view.sort === `-${column}` ? '' : column }, 'chosen')
}

const isFiltered = () => view.q !== '' || view.yearMin !== '' || view.yearMax !== '' || view.author !== ''
const showAll = () => change({ q: '', yearMin: '', yearMax: '', author: '' }, 'chosen')

function drawRows() {
  const { first, end } = rowsInSight(pages.length)
  pages.reach(first, end)
  draw()
}

function draw() {
  const element = document.getElementById('app')
  if (element === null) return
  render(page(), element)
  drawCharts()
  if (pages !== undefined) placeRows(pages.length)
}

const page = () => html`
  <header>
    <h1>Book Catalogue</h1>
    <nav aria-label="Catalogue">
      <button type="button" class="main" @click=${addBook}>Add a book</button>
      <button type="button" @click=${chooseFile}>Import…</button>
      <button type="button" @click=${() => exportBooks(queryOf(view))}>Export…</button>
      <a href="/docs">API</a>
      <button type="button" @click=${logOut}>Log out</button>
    </nav>
  </header>
  <search>
    ${input('q', 'Search', 'search')} ${input('yearMin', 'From year', 'text')} ${input('yearMax', 'To year', 'text')}
    ${
      view.author === ''
        ? nothing
        : html`<button type="button" @click=${() => change({ author: '' }, 'chosen')}>Author: ${view.author} ✕</button>`
    }
    <p class="count" role="status">${countText()}</p>
  </search>
  ${charts(filterOf(view), {
    chooseDecade: (first) => change({ yearMin: String(first), yearMax: String(first + 9) }, 'chosen'),
    chooseAuthor: (author) => change({ author }, 'chosen'),
    changed: draw,
  })}
  <main>${content()}</main>
`

/** @param {'q' | 'yearMin' | 'yearMax'} name @param {string} label @param {string} type */
const input = (name, label, type) => html`<label class=${name}>${label}
  <input
    type=${type}
    inputmode=${name === 'q' ? 'search' : 'numeric'}
    autocomplete="off"
    .value=${live(view[name])}
    @input=${(/** @type {InputEvent} */ event) =>
      change({ [name]: /** @type {HTMLInputElement} */ (event.target).value }, 'typed')}
  />
</label>`

function countText() {
  if (pages === undefined || count === undefined) return ''
  return `${count.toLocaleString('en')} ${count === 1 ? 'book' : 'books'}`
}

function content() {
  if (pages === undefined) return html`<p class="state">Reading the catalogue…</p>`
  const { error } = pages
  const retry = () => pages.retry()
  if (error !== undefined && pages.length === 0) {
    if (!(error instanceof Refused))
      return state('The service does not answer', 'It is tried again every few seconds.', 'Try now', retry)
    return error.status === 400
      ? state(
          'There is nothing to search for',
          'A search needs at least one word, and at most 32.',
          'Show all books',
          showAll,
        )
      : state('The books cannot be shown', error.message, 'Try again', retry)
  }
  if (pages.isComplete && pages.length === 0) {
    return isFiltered()
      ? state('No book is like that', 'Try fewer letters, or other years.', 'Show all books', showAll)
      : state('The catalogue is empty', 'Add the first book, or drop a CSV file here.', 'Add a book', addBook)
  }
  return html`
    <div class="rows" tabindex="-1" @scroll=${drawRows}>
      ${bookTable({ pages, sort: view.sort, sortBy, edit: (id) => void editBook(id) })}
    </div>
    ${
      error === undefined
        ? nothing
        : html`<p class="away" role="alert">
            ${error instanceof Refused ? error.message : 'The service does not answer. It is tried again every few seconds.'}
            <button type="button" @click=${retry}>Try now</button>
          </p>`
    }
  `
}

/** @param {string} title @param {string} text @param {string} label @param {() => void} action */
const state = (title, text, label, action) => html`<div class="state">
  <h2>${title}</h2>
  <p>${text}</p>
  <button type="button" @click=${action}>${label}</button>
</div>`

startLogin()
startEditor({
  created: load,
  updated: (book) => pages.replace(book),
  deletionsChanged() {
    if (count !== undefined) count = undefined
    pages.refresh()
  },
})
startTransfer(load)
addEventListener('popstate', () => {
  view = readAddress()
  draw()
  load()
})
addEventListener('resize', () => pages && drawRows())
draw()
load()
