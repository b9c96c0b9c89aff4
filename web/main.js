import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { filterOf, linkedBook, queryOf, readAddress, writeAddress } from './address.js'
import {
  acceptDrops,
  addBook,
  editBook,
  exportBooks,
  importBooks,
  loadParts,
  useCharts,
  useSelected,
} from './later.js'
import {
  bookTable,
  find,
  isPrinting,
  keepingFocus,
  placeRows,
  restoreFocus,
  rowsInSight,
  setPrinting,
  showFrom,
  showRow,
  toTop,
} from './list.js'
import { logOut, startLogin } from './login.js'
import { tell } from './notices.js'
import { BookPages, countBooks, isIn } from './pages.js'
import { MOST, rangeTo, select, selected, toggle } from './selection.js'
import { Away, Refused, wasAborted } from './service.js'
import { noYear, oneLine, quote, readYear } from './text.js'
import { books, words } from './words.js'

/** How long typing has to pause before the service is asked, and before it counts; in milliseconds. */
const TYPING_PAUSE = 80
const COUNT_PAUSE = 500

/** How long to wait for books before the page says so, in milliseconds. */
const SLOW = 400

/** How long a list has been still before its place is remembered, in milliseconds. */
const STILL = 200

/** How long to wait before asking a service again that is away, in milliseconds. */
const AWAY_PAUSE = 3000

let view = readAddress()
/** The row from which a list is shown that the user comes back to. @type {number} */
let place = history.state?.row ?? 0
/** @type {ReturnType<typeof setTimeout> | undefined} */
let placing
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
/** What shows the charts, once they have been opened. @type {typeof import('./charts.js') | undefined} */
let charts
let counting = new AbortController()
let isCounting = false
/** Whether the books that are coming take long. */
let isSlow = false
/** @type {ReturnType<typeof setTimeout> | undefined} */
let slowTimer
/** Whether the service did not answer when it was last asked for books. */
let isAway = false

/** Shows the books of the view, from the first. */
function load() {
  coming?.stop()
  counting.abort()
  const next = new BookPages(queryOf(view), () => arrived(next))
  coming = next
  clearTimeout(slowTimer)
  slowTimer = setTimeout(() => {
    isSlow = coming === next
    draw()
  }, SLOW)
  next.reach(0, 0)
  void charts?.updateCharts(filterOf(view), draw)
}

/** @param {BookPages} some whose books have come, or failed to. */
function arrived(some) {
  if (some === coming) {
    if (pages !== some) pages?.stop()
    pages = some
    coming = undefined
    clearTimeout(slowTimer)
    isSlow = false
    count = undefined
    draw()
    toTop()
    void goBackTo(pages, place)
    place = 0
    if (pages.error === undefined) countAgain()
    loadParts()
  }
  if (some === pages) {
    if (pages.isComplete) count = pages.length
    // As cursors are after a restart with another key.
    if (pages.error instanceof Refused && pages.error.status === 400 && pages.length > 0) return load()
    const wasAway = isAway
    isAway = pages.error !== undefined && !(pages.error instanceof Refused)
    clearTimeout(retrying)
    if (isAway) retrying = setTimeout(() => pages.retry(), AWAY_PAUSE)
    else if (wasAway) changed()
    // They may not fill a tall window, in which nothing can be scrolled.
    drawRows()
  }
}

/** @param {BookPages} some @param {number} row */
async function goBackTo(some, row) {
  if (row === 0) return
  const last = Math.min(row, MOST)
  await reading(some.read(last, last + 1))
  // Unless the user has scrolled meanwhile.
  if (some === pages && rowsInSight(some.length).top === 0) showFrom(row, some.length, drawRows)
}

/** Remembers where the list is, so that it is there when the user comes back to it. */
function keepPlace() {
  clearTimeout(placing)
  placing = undefined
  if (pages !== undefined) history.replaceState({ row: rowsInSight(pages.length).top }, '')
}

function scrolled() {
  if (pages === undefined) return
  drawRows()
  clearTimeout(placing)
  placing = setTimeout(keepPlace, STILL)
}

/** Counts what the list and the charts show, after books were changed or the service was away. */
function changed() {
  countAgain()
  void charts?.updateCharts(filterOf(view), draw)
}

function countAgain() {
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
      // Those whose deletion can still be undone are still stored.
      count = Math.max((await countBooks(queryOf(view), signal)) - pages.withheld, pages.length)
      return draw()
    } catch (error) {
      if (wasAborted(error)) return
      if (error instanceof Refused) {
        isCounting = false
        return draw()
      }
    }
  }
}

/** Shows a new book in its place, which is marked. @param {import('./service.js').Book} book */
async function show(book) {
  load()
  const next = coming
  const row = await next?.find(book.id)
  if (next !== pages) return
  if (row !== undefined) return showRow(row, book.id, drawRows)
  const actions = [{ label: words.list.newestFirst, run: () => change({ sort: '-id' }, 'chosen') }]
  if (!pages.isComplete && pages.error === undefined)
    tell({ text: words.list.tooFar(quote(book.title)), actions })
}

/** Says so if a book that was stored is not one of those of the list. @param {import('./service.js').Book} book @param {boolean} isNew */
async function updated(book, isNew) {
  if (!isNew) pages.replace(book)
  if (selected.has(book.id)) select([book])
  const shown = view
  const isThere = await isIn(book, shown).catch(() => true)
  if (shown === view) {
    if (!isThere) {
      if (!isNew) {
        selected.delete(book.id)
        pages.remove(book.id)
      }
      const text = words.list[isNew ? 'newElsewhere' : 'movedElsewhere'](quote(book.title))
      tell({ text, actions: [{ label: words.showAll, run: showAll }] })
    } else if (isNew) await show(book)
  }
  if (!isNew) changed()
}

/** What becomes of books that are edited. @type {import('./editor.js').Listener} */
const listener = {
  created: (book) => void updated(book, true),
  updated: (book) => void updated(book, false),
  deletionsChanged() {
    pages.refresh()
    countAgain()
  },
  deleted(...ids) {
    for (const id of ids) selected.delete(id)
    pages.remove(...ids)
    changed()
  },
}

/** @type {import('./selected.js').Listener} */
const selectionListener = {
  ...listener,
  edited: load,
  filter: () => filterOf(view),
  selectionChanged() {
    draw()
    restoreFocus()
  },
}

/** What becomes of the books of files. @type {import('./imported.js').Listener} */
const importListener = {
  changed: load,
  show(books) {
    change({ ...EVERYTHING, sort: '-id' }, 'chosen')
    selected.clear()
    select(books)
  },
}

/** @param {Partial<typeof view>} change @param {'typed' | 'chosen'} how */
function change(change, how) {
  const filter = filterOf(view)
  view = { ...view, ...change }
  if (filterOf(view) !== filter) selected.clear()
  if (placing !== undefined) keepPlace()
  place = 0
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

/** @param {string} author */
const chooseAuthor = (author) => change({ author }, 'chosen')

/** The button that does it is gone then. */
function clearAuthor() {
  change({ author: '' }, 'chosen')
  find('.q input')?.focus()
}

const EVERYTHING = { q: '', yearMin: '', yearMax: '', author: '' }

const showAll = () => change(EVERYTHING, 'chosen')

function drawRows() {
  const { first, end } = rowsInSight(pages.length)
  pages.reach(first, end)
  draw()
}

function draw() {
  const element = document.getElementById('app')
  if (element === null) return
  document.title = view.q.trim() === '' ? words.catalogue : words.searchTitle(view.q.trim())
  // Also before: a list that is too short while its rows change does not stay where it is scrolled to.
  if (pages !== undefined) placeRows(pages.length)
  keepingFocus(() => render(page(), element))
  charts?.drawCharts()
  if (pages !== undefined) placeRows(pages.length)
}

const page = () => html`
  <header>
    <h1>${words.catalogue}</h1>
    <nav aria-label=${words.menu.label}>
      <button type="button" class="main" @click=${() => addBook(listener)}>${words.addBook}</button>
      <button type="button" class="narrow" popovertarget="menu">${words.menu.more}</button>
      <div id="menu" popover @click=${leaveMenu}>
        <button type="button" @click=${() => importBooks(importListener)}>${words.menu.import}</button>
        <button type="button" @click=${() => exportBooks(queryOf(view))}>${words.menu.export}</button>
        <a href="docs">${words.menu.api}</a>
        <button type="button" @click=${logOut}>${words.menu.logOut}</button>
      </div>
    </nav>
  </header>
  <search>
    ${input('q', 'search')}
    <button type="button" class="narrow" popovertarget="years">${words.filters.years}${view.yearMin + view.yearMax === '' ? '' : ' ✓'}</button>
    <div id="years" popover>${input('yearMin', 'text')} ${input('yearMax', 'text')}</div>
    ${
      view.author === ''
        ? nothing
        : html`<button type="button" aria-label=${words.filters.clearAuthor(oneLine(view.author))} @click=${clearAuthor}>${words.filters.author} <bdi>${oneLine(view.author)}</bdi> ✕</button>`
    }
    <label class="sort"><span>${words.filters.sort}</span>
      <select @change=${(/** @type {Event} */ event) => change({ sort: /** @type {HTMLSelectElement} */ (event.target).value }, 'chosen')}>
        ${Object.entries(words.filters.orders).map(
          ([sort, label]) => html`<option value=${sort} .selected=${live(view.sort === sort)}>
            ${sort === '' && view.q.trim() !== '' ? words.filters.bestMatch : label}
          </option>`,
        )}
      </select>
    </label>
    <p class="count" role="status">${countText()}</p>
    <p class="error" aria-live="polite">${[view.yearMin, view.yearMax].filter(isNoYear).map(noYear).join(' ')}</p>
  </search>
  <section aria-label=${words.statistics.label}>
    <details class="charts" @toggle=${toggleCharts}>
      <summary>${words.statistics.label}</summary>
      ${charts?.charts(chartListener) ?? nothing}
    </details>
  </section>
  <main>${content()} ${selectionBar()}</main>
`

/** Whether a list is shown, and no other one is searched for. @param {BookPages} some */
const isCurrent = (some) => some === pages && some.query === queryOf(view)

/** @param {number} row @param {boolean} isRange whether all books up to this one are selected. @param {number} [from] */
async function selectRow(row, isRange, from) {
  if (isRange) await selectRows(rangeTo(pages, row, from))
  else if (isCurrent(pages)) toggle(pages, row)
  draw()
}

/** Selects all books of the list, or none if all are selected. */
async function selectAll() {
  if (pages.isComplete && selected.size >= pages.length) selected.clear()
  else if ((count ?? pages.length) > MOST) tell({ text: words.selection.tooMany(MOST) })
  else await selectRows({ first: 0, end: MOST })
  draw()
}

/** @param {{ first: number, end: number }} rows */
async function selectRows({ first, end }) {
  const some = pages
  const read = await reading(some.read(first, end))
  if (read && isCurrent(some)) select(read)
}

/** Reads the list to its end, unless that is far away. */
async function readToEnd() {
  const some = pages
  isSlow = !some.isComplete
  draw()
  await reading(some.read(MOST - 1, MOST))
  isSlow = false
  draw()
  if (some !== pages || some.isComplete || some.error !== undefined) return
  const { sort, q } = view
  const reverse = sort.startsWith('-') ? sort.slice(1).replace('id', '') : `-${sort || 'id'}`
  const actions = [{ label: words.list.reverse, run: () => change({ sort: reverse }, 'chosen') }]
  // The best matches have no reverse order.
  const hasReverse = sort !== '' || q.trim() === ''
  tell({ text: words.list.endTooFar(some.length), ...(hasReverse && { actions }) })
}

/** Says why books cannot be read. @template T @param {Promise<T>} work @returns {Promise<T | undefined>} */
const reading = (work) =>
  work.catch((error) => {
    if (!wasAborted(error)) tell({ text: error instanceof Away ? words.awayMoment : error.message })
    return undefined
  })

/** What can be done with the books that are selected. */
function selectionBar() {
  const { size } = selected
  const use = (/** @type {(part: typeof import('./selected.js')) => void} */ run) => () => useSelected(run)
  return html`<div class="selection" role="group" aria-label=${words.selection.label}>
    <span role="status">${size === 0 ? '' : words.selection.count(size)}</span>
    ${
      size === 0
        ? nothing
        : html`
          ${count !== undefined && size < count && count <= MOST ? html`<button type="button" @click=${selectAll}>${words.selection.selectAllOf(count)}</button>` : nothing}
          <button type="button" @click=${use((part) => part.editSelected(selectionListener))}>${words.selection.edit}</button>
          <button type="button" @click=${use((part) => part.exportSelected())}>${words.selection.export}</button>
          <button type="button" @click=${use((part) => part.deleteSelected(selectionListener))}>${words.selection.delete}</button>
          <button type="button" @click=${clearSelection}>${words.selection.clear}</button>`
    }
  </div>`
}

function clearSelection() {
  selected.clear()
  selectionListener.selectionChanged()
}

/** @type {import('./charts.js').Listener} */
const chartListener = {
  chooseDecade: (first) => change({ yearMin: String(first), yearMax: String(first + 9) }, 'chosen'),
  chooseAuthor,
}

/** @param {Event} event */
function toggleCharts({ target }) {
  const { open } = /** @type {HTMLDetailsElement} */ (target)
  // The list may have another place, and what is drawn may have come while there was no space for it.
  draw()
  useCharts((part) => {
    charts = part
    part.openCharts(open, filterOf(view), draw)
  })
}

/** Before what is chosen in it is done: the focus returns from a dialog to what had it before. */
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

/** @param {'q' | 'yearMin' | 'yearMax'} name @param {string} type */
const input = (
  name,
  type,
) => html`<label class=${name}><span>${words.filters[name === 'q' ? 'search' : name]}</span>
  <input
    type=${type}
    inputmode=${name === 'q' ? 'search' : 'numeric'}
    aria-keyshortcuts=${name === 'q' ? '/' : nothing}
    autocomplete="off"
    placeholder=${name === 'q' ? words.filters.search : nothing}
    aria-invalid=${name !== 'q' && isNoYear(view[name])}
    .value=${live(view[name])}
    @input=${(/** @type {InputEvent} */ event) =>
      change({ [name]: /** @type {HTMLInputElement} */ (event.target).value }, 'typed')}
  />
</label>`

/** What is typed for a year, unless it has only begun. @param {string} text */
const isNoYear = (text) => !/^\s*[\p{Dash}+]?\s*$/u.test(text) && readYear(text) === undefined

function countText() {
  if (pages === undefined) return ''
  if (isSlow) return words.list.loading
  if (count === undefined) return isCounting ? words.list.counting : ''
  return books(count)
}

/** What is on paper, where nothing can be scrolled. */
function printedText() {
  const { first, end } = pages.kept
  if (first === 0 && end === pages.length && pages.isComplete) return words.list.printedAll(end)
  return words.list.printed(first + 1, end, count)
}

function content() {
  if (pages === undefined) return html`<p class="state">${words.list.first}</p>`
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
    return filterOf(view) !== ''
      ? state(words.list.none, words.list.noneHint, words.showAll, showAll)
      : state(words.list.empty, words.list.emptyHint, words.addBook, () => addBook(listener))
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
    ${isPrinting ? html`<p>${printedText()}</p>` : nothing}
    <div class="rows" aria-busy=${isSlow} @scroll=${scrolled}>
      ${bookTable({ pages, sort: view.sort, sortBy, q: view.q, chooseAuthor, edit: (id) => editBook(id, listener), select: selectRow, selectAll, readToEnd, redraw: drawRows })}
    </div>
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

/** @param {unknown} error */
const awayText = (error) => (error instanceof Away && error.isBusy ? words.busy : words.away)

/** @param {string} title @param {string} text @param {string} label @param {() => void} action */
const state = (title, text, label, action) => html`<div class="state">
  <h2>${title}</h2>
  <p>${text}</p>
  <button type="button" @click=${action}>${label}</button>
</div>`

startLogin()
acceptDrops(importListener)
history.scrollRestoration = 'manual'
addEventListener('popstate', ({ state }) => {
  clearTimeout(placing)
  placing = undefined
  place = state?.row ?? 0
  view = readAddress()
  selected.clear()
  draw()
  load()
})
// A wide window has no menus.
matchMedia('(max-width: 40rem)').addEventListener('change', hideMenus)
for (const type of ['resize', 'scroll']) addEventListener(type, scrolled)
// When a dialog is closed whose opener is gone.
addEventListener('close', restoreFocus, true)
for (const type of ['beforeprint', 'afterprint'])
  addEventListener(type, () => {
    setPrinting(type === 'beforeprint')
    draw()
  })
addEventListener('hashchange', openLinked)
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event
  // Elsewhere it might be meant for something else, as for a program that types what is said (WCAG 2.2, 2.1.4).
  const isInList = target instanceof Element && target.closest('[role=grid]') !== null
  if (key !== '/' || ctrlKey || metaKey || altKey || !isInList) return
  event.preventDefault()
  find('.q input')?.focus()
})
draw()
load()
openLinked()

function openLinked() {
  const id = linkedBook()
  if (id !== undefined && document.querySelector('#editor dialog[open]') === null) editBook(id, listener)
}
