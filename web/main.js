import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { DUPLICATES, filterOf, linked, queryOf } from './address.js'
import { chooseAuthor, filters, searchField } from './filters.js'
import { icon, logo } from './icons.js'
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
  reading,
  scrolled,
  showAll,
  sight,
  startListing,
  view,
} from './listing.js'
import { logOut, startLogin } from './login.js'
import { tell } from './notices.js'
import { selected } from './pages.js'
import { awayText, Refused, whenIntercepted } from './service.js'
import { stored, takeDraft } from './session.js'
import { words, yearText } from './words.js'

/** Whether the charts are shown. */
let isOpen = false

/**
 * A module that the first view does not need. Once it is loaded, `use` is synchronous, so that what is typed after a
 * click goes to the dialog that the click opens.
 * @template T @param {() => Promise<T>} load
 */
function later(load) {
  /** @type {T | undefined} */
  let module
  const get = async () => {
    module ??= await load()
    return module
  }
  return {
    get,
    get loaded() {
      return module
    },
    use(/** @type {(module: T) => void} */ run) {
      if (module === undefined) void get().then(run, () => tell({ text: words.notLoaded }))
      else run(module)
    },
  }
}

const editor = later(() => import('./editor.js'))
const transfer = later(() => import('./transfer.js'))
const exporting = later(() => import('./export.js'))
const selecting = later(() => import('./selecting.js'))
const charts = later(() => import('./charts.js'))

/** Loads all parts once the first view is shown, so that they work even if the service is unavailable later. */
const loadParts = () =>
  void Promise.allSettled([editor, transfer, exporting, selecting, charts].map(({ get }) => get()))

const addBook = () => editor.use((part) => part.addBook())

/** @param {number} id */
const editBook = (id) => editor.use((part) => void part.editBook(id))

/** Opens or closes what the address names. */
const openLinked = () => editor.use((part) => part.openLinked())

/** @param {string} draft what was typed before a reload. */
const resumeEdit = (draft) => editor.use((part) => part.resume(draft))

const importBooks = () => transfer.use((part) => part.openImport(undefined))

const importSamples = () => transfer.use((part) => void part.importSamples())

/** @param {string} query */
const exportBooks = (query) => exporting.use((part) => part.exportBooks(query))

/** Opens the import dialog for a file that is dropped anywhere on the web page. */
function acceptDrops() {
  const mark = (/** @type {boolean} */ isOver) =>
    document.documentElement.classList.toggle('dragging', isOver)
  addEventListener('dragover', (event) => {
    event.preventDefault()
    mark(event.dataTransfer?.types.includes('Files') === true)
  })
  addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) mark(false)
  })
  addEventListener('drop', (event) => {
    event.preventDefault()
    mark(false)
    const [file] = event.dataTransfer?.files ?? []
    if (file) transfer.use((part) => part.openImport(file))
  })
}

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
        <button type="button" @click=${printList}>${icon('print')}${words.menu.print}</button>
        <button type="button" aria-pressed=${isRoomy()} @click=${toggleRoomy}>${icon('rows')}${words.menu.roomy}</button>
        <button type="button" @click=${logOut}>${icon('logOut')}${words.menu.logOut}</button>
      </div>
    </nav>
  </header>
  ${filters(html`<button type="button" class="quiet statistics" aria-expanded=${isOpen} @click=${toggleCharts}>
    ${icon('statistics')}<span>${words.statistics.label}</span>
  </button>`)}
  ${isOpen ? html`<section class="charts" aria-label=${words.statistics.label}>${charts.loaded?.charts(chartListener) ?? nothing}</section>` : nothing}
  <main>${content()}
    <div class="selection" role="group" aria-label=${words.selection.label}>
      <span role="status">${selected.size === 0 ? '' : words.selection.count(selected.size)}</span>
      ${selected.size === 0 ? nothing : selecting.loaded?.buttons()}
    </div>
  </main>
`

function exportList() {
  if (view.sort === DUPLICATES) selecting.use((part) => part.exportListed())
  else exportBooks(queryOf(view))
}

/** How many books are printed at most. */
const MOST_PRINTED = 1000

/** Reads the books that are to be printed first, because the browser does not wait for them. */
async function printList() {
  await reading(pages.read(0, MOST_PRINTED))
  print()
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
  charts.use((part) => part.openCharts(isOpen, filterOf(view), draw))
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
            <button type="button" @click=${() => selecting.use((part) => part.selectCopies())}>${words.selection.selectCopies}</button>
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
  select: (...range) => selecting.use((part) => void part.selectRow(...range)),
  selectAll: () => selecting.use((part) => void part.selectAll()),
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
addEventListener('close', () => restoreFocus(), true)
for (const type of ['beforeprint', 'afterprint'])
  addEventListener(type, () => {
    setPrinting(type === 'beforeprint')
    draw()
  })
addEventListener('hashchange', openLinked)
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event
  if (key === 'p' && (ctrlKey || metaKey) && !altKey && pages !== undefined && openDialog() === undefined) {
    event.preventDefault()
    void printList()
  }
  // Elsewhere the key may not be meant as a shortcut, as when speech input types it (WCAG 2.2, 2.1.4).
  const isInList = target instanceof Element && target.closest('.rows') !== null
  if (key !== '/' || ctrlKey || metaKey || altKey || !isInList) return
  event.preventDefault()
  find('.q input')?.focus()
})
document.documentElement.classList.toggle('roomy', stored(() => localStorage.getItem(ROOMY)) === 'yes')
draw()
startListing({ draw, arrived, changed: () => void charts.loaded?.updateCharts(filterOf(view), draw) })
const draft = takeDraft()
if (draft !== undefined) resumeEdit(draft)
else if (linked() !== undefined) openLinked()
