import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { DUPLICATES, filterOf, linkedBook, queryOf } from './address.js'
import { chooseAuthor, filters, searchField } from './filters.js'
import { icon, logo } from './icons.js'
import {
  acceptDrops,
  addBook,
  editBook,
  exportBooks,
  importBooks,
  importSamples,
  loadParts,
  resumeEdit,
  useCharts,
  useSelecting,
} from './later.js'
import {
  bookTable,
  find,
  isPrinting,
  keepingFocus,
  openDialog,
  placeRows,
  restoreFocus,
  rowsInSight,
  setPrinting,
  showFrom,
} from './list.js'
import {
  change,
  drawRows,
  findEnd,
  isSlow,
  load,
  pages,
  scrolled,
  showAll,
  sight,
  startListing,
  view,
} from './listing.js'
import { logOut, startLogin } from './login.js'
import { tell } from './notices.js'
import { selected } from './selection.js'
import { awayText, Refused, whenIntercepted } from './service.js'
import { stored, takeDraft } from './session.js'
import { words, yearText } from './words.js'

/** The module of the charts, once they have been opened. @type {typeof import('./charts.js') | undefined} */
let charts
/** Whether the charts are shown. */
let isOpen = false
/** The module that selects books, once it has been loaded. @type {typeof import('./selecting.js') | undefined} */
let selecting

/** @param {(part: typeof import('./selecting.js')) => void} run */
const select = (run) =>
  useSelecting((part) => {
    selecting = part
    run(part)
  })

function draw() {
  const element = document.getElementById('app')
  if (element === null) return
  document.title = view.q.trim() === '' ? words.catalogue : words.searchTitle(view.q.trim())
  // Also before drawing: a list that is too short while its rows change would lose its scroll position.
  if (pages !== undefined) placeRows(pages.length)
  keepingFocus(() => render(page(), element))
  if (pages !== undefined) placeRows(pages.length)
}

const page = () => html`
  <header>
    <h1>${logo}<span>${words.catalogue}</span></h1>
    ${searchField()}
    <nav aria-label=${words.menu.label}>
      <button type="button" class="main" @click=${addBook}>${icon('add')}<span>${words.addBook}</span></button>
      <button type="button" class="quiet" popovertarget="menu">${icon('menu')}<span>${words.menu.more}</span></button>
      <div id="menu" popover @click=${leaveMenu}>
        <button type="button" @click=${importBooks}>${icon('import')}${words.menu.import}</button>
        <button type="button" @click=${exportList}>${icon('export')}${words.menu.export}</button>
        <a href="docs">${icon('api')}${words.menu.api}</a>
        <button type="button" aria-pressed=${isRoomy()} @click=${toggleRoomy}>${icon('rows')}${words.menu.roomy}</button>
        <button type="button" @click=${logOut}>${icon('logOut')}${words.menu.logOut}</button>
      </div>
    </nav>
  </header>
  ${filters(html`<button type="button" class="quiet statistics" aria-expanded=${isOpen} @click=${toggleCharts}>
    ${icon('statistics')}<span>${words.statistics.label}</span>
  </button>`)}
  ${isOpen ? html`<section class="charts" aria-label=${words.statistics.label}>${charts?.charts(chartListener) ?? nothing}</section>` : nothing}
  <main>${content()}
    <div class="selection" role="group" aria-label=${words.selection.label}>
      <span role="status">${selected.size === 0 ? '' : words.selection.count(selected.size)}</span>
      ${selected.size === 0 ? nothing : selecting?.buttons()}
    </div>
  </main>
`

function exportList() {
  if (view.sort === DUPLICATES) select((part) => part.exportListed())
  else exportBooks(queryOf(view))
}

/** @type {import('./charts.js').Listener} */
const chartListener = {
  chooseYears: (first, last) => change({ yearMin: typed(first), yearMax: typed(last) }, 'chosen'),
  chooseAuthor,
  redraw: () => draw(),
}

/** @param {number | undefined} year */
const typed = (year) => (year === undefined ? '' : yearText(year))

function toggleCharts() {
  isOpen = !isOpen
  draw()
  useCharts((part) => {
    charts = part
    part.openCharts(isOpen, filterOf(view), draw)
  })
}

/** The key in `localStorage` of the choice of higher rows. */
const ROOMY = `roomy rows of ${location.pathname}`

const isRoomy = () => document.documentElement.classList.contains('roomy')

/** Makes the rows higher or lower, keeps the choice, and the first row in sight. */
function toggleRoomy() {
  const { top } = rowsInSight(pages?.length ?? 0)
  const isIt = document.documentElement.classList.toggle('roomy')
  stored(() => (isIt ? localStorage.setItem(ROOMY, 'yes') : localStorage.removeItem(ROOMY)))
  showFrom(top, pages?.length ?? 0, draw)
}

/** Runs before the chosen action, so that a dialog that it opens later returns the focus to the button of the menu. */
const leaveMenu = {
  capture: true,
  handleEvent() {
    hideMenus()
    find('[popovertarget=menu]')?.focus()
  },
}

function hideMenus() {
  for (const menu of document.querySelectorAll(':popover-open'))
    if (menu instanceof HTMLElement) menu.hidePopover()
}

function content() {
  if (pages === undefined)
    return html`<p class="state" role="status">${words.list.first}</p>
    <div class="rows" aria-hidden="true">${Array.from({ length: 12 }, () => html`<div class="row loading"><span class="bone"></span></div>`)}</div>`
  const { error } = pages
  const retry = () => pages.retry()
  if (error !== undefined && pages.length === 0) {
    if (!(error instanceof Refused))
      return state(awayText(error), words.list.retrying, words.list.retryNow, retry)
    return error.status === 400
      ? state(words.list.tooLong, words.list.tooLongHint, words.showAll, showAll)
      : state(words.list.failed, error.message, words.list.tryAgain, retry)
  }
  if (pages.isComplete && pages.length === 0) {
    if (pages.isOfDuplicates)
      return state(words.list.noDuplicates, words.list.noDuplicatesHint, words.showAll, showAll)
    if (filterOf(view) === '') return empty()
    return pages.isPartial
      ? state(words.list.noneYet, words.list.partial, words.list.searchAgain, load)
      : state(words.list.none, words.list.noneHint, words.showAll, showAll)
  }
  return html`
    ${
      pages.isPartial
        ? html`<p class="away" role="status">
            ${words.list.partial}
            <button type="button" @click=${load}>${words.list.searchAgain}</button>
          </p>`
        : nothing
    }
    ${
      pages.isOfDuplicates
        ? html`<p class="away" role="status">
            ${words.list.duplicates}
            <button type="button" @click=${() => select((part) => part.selectCopies())}>${words.selection.selectCopies}</button>
          </p>`
        : nothing
    }
    ${isPrinting ? html`<p>${printedText()}</p>` : nothing}
    <div class="rows" tabindex="-1" aria-busy=${isSlow} @scroll=${scrolled}>${bookTable(table())}</div>
    ${sight === undefined ? nothing : html`<p class="sight" aria-hidden="true">${words.list.sight(sight.first, sight.last, pages.count)}</p>`}
    ${
      error === undefined
        ? nothing
        : html`<p class="away" role="alert">
            ${error instanceof Refused ? error.message : `${awayText(error)}. ${words.list.retrying}`}
            <button type="button" @click=${retry}>${words.list.retryNow}</button>
          </p>`
    }
  `
}

/** @returns {Parameters<typeof bookTable>[0]} */
const table = () => ({
  pages,
  sort: view.sort,
  sortBy,
  q: view.q,
  chooseAuthor,
  linkTo: (change) => `?${queryOf({ ...view, ...change })}`,
  edit: editBook,
  select: (...range) => select((part) => void part.selectRow(...range)),
  selectAll: () => select((part) => void part.selectAll()),
  findEnd,
  redraw: drawRows,
})

/** Ascending, then descending, then in the order of the service. @param {import('./list.js').Column} column */
function sortBy(column) {
  change({ sort: view.sort === column ? `-${column}` : view.sort === `-${column}` ? '' : column }, 'chosen')
}

/** An empty catalogue says how to begin. */
const empty = () => html`<div class="state">
  ${logo}
  <h2>${words.list.empty}</h2>
  <p>${words.list.emptyHint}</p>
  <div class="buttons">
    <button type="button" class="main" @click=${addBook}>${icon('add')}${words.addBook}</button>
    <button type="button" @click=${importBooks}>${icon('import')}${words.menu.import}</button>
    <button type="button" @click=${importSamples}>${words.list.samples}</button>
  </div>
</div>`

/**
 * Each title has an element of its own: a click that begins on the button of one must not press that of the next.
 * @param {string} title @param {string} text @param {string} label @param {() => void} action
 */
const state = (title, text, label, action) =>
  repeat(
    [title],
    () => title,
    () => html`<div class="state">
      <h2>${title}</h2>
      <p>${text}</p>
      <button type="button" @click=${action}>${label}</button>
    </div>`,
  )

/** Says which books are printed: only those in memory. */
function printedText() {
  const { first, end } = pages.kept
  if (first === 0 && end === pages.length && pages.isComplete) return words.list.printedAll(end)
  return words.list.printed(first + 1, end, pages.count)
}

function openLinked() {
  const id = linkedBook()
  if (id !== undefined && document.querySelector('#editor dialog[open]') === null) editBook(id)
}

/** Gives the list the focus if nothing has it, so that PageDown scrolls it. */
function arrived() {
  loadParts()
  if (document.activeElement === document.body && openDialog() === undefined)
    find('.rows')?.focus({ preventScroll: true })
}

/** Removes the notice about a proxy. */
let dismissProxy = () => {}

function reload() {
  dispatchEvent(new Event('reloading'))
  location.reload()
}

whenIntercepted((text) => {
  dismissProxy()
  const actions = [{ label: words.reload, run: reload, staysAfter: true }]
  dismissProxy = text === undefined ? () => {} : tell({ text, actions }, Number.POSITIVE_INFINITY)
})
startLogin()
acceptDrops()
// A wide window has no menu of years.
matchMedia('(max-width: 40rem)').addEventListener('change', hideMenus)
// The element that opened a dialog may be gone when the dialog is closed.
addEventListener('close', restoreFocus, true)
for (const type of ['beforeprint', 'afterprint'])
  addEventListener(type, () => {
    setPrinting(type === 'beforeprint')
    draw()
  })
addEventListener('hashchange', openLinked)
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event
  // Elsewhere the key may not be meant as a shortcut, as when speech input types it (WCAG 2.2, 2.1.4).
  const isInList = target instanceof Element && target.closest('.rows') !== null
  if (key !== '/' || ctrlKey || metaKey || altKey || !isInList) return
  event.preventDefault()
  find('.q input')?.focus()
})
document.documentElement.classList.toggle('roomy', stored(() => localStorage.getItem(ROOMY)) === 'yes')
draw()
startListing({ draw, arrived, changed: () => void charts?.updateCharts(filterOf(view), draw) })
const draft = takeDraft()
if (draft === undefined) openLinked()
else resumeEdit(draft)
