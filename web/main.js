import { effect, signal, untracked } from '@preact/signals-core'
import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { find, openDialog, restoreFocus, tell } from './dialog.js'
import { noYear, oneLine, readYear } from './fields.js'
import { icon, logo } from './icons.js'
import { bookTable, drawAround, printedText, scrolled, sight } from './list.js'
import { logOut, startLogin } from './login.js'
import { DUPLICATES } from './pages.js'
import { awayText, Refused, whenIntercepted } from './service.js'
import { stored, takeDraft } from './session.js'
import {
  addressOf,
  change,
  EVERYTHING,
  filterOf,
  linked,
  load,
  orderOf,
  showAll,
  sortBy,
  startStore,
  store,
} from './store.js'
import { books, words } from './words.js'

/**
 * A module that the first view does not need. Once it is loaded, `use` is synchronous, so that what is typed after a
 * click goes to the dialog that the click opens.
 * @template T @param {() => Promise<T>} load
 */
function later(load) {
  const module = signal(/** @type {T | undefined} */ (undefined))
  const get = async () => {
    module.value ??= await load()
    return module.value
  }
  return {
    get,
    get loaded() {
      return module.value
    },
    use(/** @type {(module: T) => void} */ run) {
      if (module.value === undefined) void get().then(run, () => tell({ text: words.notLoaded }))
      else run(module.value)
    },
  }
}

const editor = later(() => import('./editor.js'))
const transfer = later(() => import('./transfer.js'))
const exporting = later(() => import('./export.js'))
const selecting = later(() => import('./selecting.js'))
const charts = later(() => import('./charts.js'))

const addBook = () => editor.use((part) => part.addBook())

/** Opens or closes what the address names. */
const openLinked = () => editor.use((part) => part.openLinked())

/** Nothing can be typed in a part that is not loaded. */
const askAndLogOut = () => (editor.loaded ? editor.loaded.leaveAll(logOut) : logOut())

const importBooks = () => transfer.use((part) => part.openImport(undefined))

const importSamples = () => transfer.use((part) => void part.importSamples())

/** @type {import('./list.js').Actions} */
const actions = {
  edit: (id) => editor.use((part) => void part.editBook(id)),
  select: (...range) => selecting.use((part) => void part.selectRow(...range)),
  selectAll: () => selecting.use((part) => void part.selectAll()),
}

/** Opens the import dialog for a file that is dropped anywhere on the web page. */
function acceptDrops() {
  const mark = (/** @type {boolean} */ isOver) =>
    document.documentElement.classList.toggle('dragging', isOver)
  /** Whether the browser moves a text into a field. @param {DragEvent} event */
  const isText = ({ dataTransfer, target }) =>
    dataTransfer?.types.includes('Files') !== true &&
    target instanceof Element &&
    target.matches('input, textarea')
  addEventListener('dragover', (event) => {
    if (isText(event)) return
    event.preventDefault()
    mark(event.dataTransfer?.types.includes('Files') === true)
  })
  addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) mark(false)
  })
  addEventListener('drop', (event) => {
    if (isText(event)) return
    event.preventDefault()
    mark(false)
    const [file, other] = event.dataTransfer?.files ?? []
    if (other) tell({ text: words.import.oneFile })
    else if (file) transfer.use((part) => part.openImport(file))
  })
}

const page = () => html`
  <header>
    <h1>${logo}<span>${words.catalogue}</span></h1>
    <search>${icon('search')}${input('q', 'search')}</search>
    <nav aria-label=${words.menu.label}>
      <button type="button" class="main" @click=${addBook}>${icon('add')}<span>${words.addBook}</span></button>
      <button type="button" class="quiet" popovertarget="menu">${icon('menu')}<span>${words.menu.more}</span></button>
      <div id="menu" popover @click=${leaveMenu}>
        <button type="button" @click=${importBooks}>${icon('import')}${words.menu.import}</button>
        <button type="button" @click=${exportList}>${icon('export')}${words.menu.export}</button>
        <a href="docs">${icon('api')}${words.menu.api}</a>
        <button type="button" @click=${printList}>${icon('print')}${words.menu.print}</button>
        <button type="button" aria-pressed=${isRoomy()} @click=${toggleRoomy}>${icon('rows')}${words.menu.roomy}</button>
        <button type="button" @click=${askAndLogOut}>${icon('logOut')}${words.menu.logOut}</button>
      </div>
    </nav>
  </header>
  ${filters()}
  ${showsCharts() ? html`<section class="charts" aria-label=${words.statistics.label}>${charts.loaded?.charts() ?? nothing}</section>` : nothing}
  <main>${content()}
    <div class="selection" role="group" aria-label=${words.selection.label}>
      <span role="status">${store.selected.size === 0 ? '' : words.selection.count(store.selected.size)}</span>
      ${store.selected.size === 0 ? nothing : selecting.loaded?.buttons()}
    </div>
  </main>
`

/** The service makes the statistics, and knows nothing of likely duplicates. */
const isOfDuplicates = () => store.view.sort === DUPLICATES

const showsCharts = () => store.showsCharts && !isOfDuplicates()

function exportList() {
  if (isOfDuplicates()) selecting.use((part) => void part.exportListed())
  else exporting.use((part) => part.exportBooks(addressOf(store.view)))
}

const printList = () => exporting.use((part) => void part.printList())

function toggleCharts() {
  store.showsCharts = !store.showsCharts
  charts.use(() => {})
}

/** The row with the filters, the order and the number of books. */
const filters = () => html`<section class="filters" aria-label=${words.filters.label}>
  <button type="button" class="narrow" popovertarget="years">${icon('years')}<span>${words.filters.years}</span></button>
  <div id="years" popover>${input('yearMin', 'text')} ${input('yearMax', 'text')}</div>
  <label class="sort"><span>${words.filters.sort}</span>
    <select @change=${(/** @type {Event} */ event) => sortBy(typedIn(event))}>${orders()}</select>
  </label>
  ${isOfDuplicates() ? nothing : html`<button type="button" class="quiet statistics" aria-expanded=${store.showsCharts} @click=${toggleCharts}>${icon('statistics')}<span>${words.statistics.label}</span></button>`}
  ${chips()}
  <p class="count" role="status">${countText()}</p>
  <p class="error" aria-live="polite">${[store.view.yearMin, store.view.yearMax].filter(isNoYear).map(noYear).join(' ')}</p>
</section>`

function orders() {
  const { q, sort } = store.view
  const option = (/** @type {string} */ value, /** @type {string} */ label) =>
    html`<option value=${value} .selected=${live(value === (sort || orderOf(q)))}>${label}</option>`
  return [
    q.trim() === '' ? nothing : option('', words.filters.bestMatch),
    ...Object.entries(words.filters.orders).map(([value, label]) => option(value, label)),
  ]
}

function chips() {
  const { q, author, yearMin, yearMax } = store.view
  const [min = '', max = ''] = [yearMin, yearMax].map((text) => (readYear(text) === undefined ? '' : text))
  const isOfYears = min !== '' || max !== ''
  const filtered = [q !== '', author !== '', isOfYears].filter(Boolean).length
  return html`
    ${
      author === ''
        ? nothing
        : html`<button type="button" class="chip" aria-label=${words.filters.clearAuthor(oneLine(author))} @click=${() => clear({ author: '' })}>
            <bdi>${oneLine(author)}</bdi>${icon('close')}
          </button>`
    }
    ${
      isOfYears
        ? html`<button type="button" class=${min === max && min === '0' ? 'chip' : 'chip years'} aria-label=${words.filters.clearYears(min, max)} @click=${() => clear({ yearMin: '', yearMax: '' })}>
            ${words.filters.span(min, max)}${icon('close')}
          </button>`
        : nothing
    }
    ${filtered > 1 ? html`<button type="button" class="quiet clear" @click=${() => clear(EVERYTHING)}>${words.filters.clearAll}</button>` : nothing}`
}

/** @param {Event} event */
const typedIn = ({ target }) => /** @type {HTMLInputElement | HTMLSelectElement} */ (target).value

/** The service refuses an address that is much longer. */
const LONGEST_SEARCH = 500

/** @param {'q' | 'yearMin' | 'yearMax'} name @param {string} type */
const input = (
  name,
  type,
) => html`<label class=${name}><span>${words.filters[name === 'q' ? 'search' : name]}</span>
  <input
    type=${type}
    inputmode=${name === 'q' ? 'search' : nothing}
    maxlength=${name === 'q' ? LONGEST_SEARCH : nothing}
    aria-keyshortcuts=${name === 'q' ? '/' : nothing}
    autocomplete="off"
    placeholder=${name === 'q' ? words.filters.searchHint : words.filters[name]}
    aria-invalid=${name !== 'q' && isNoYear(store.view[name])}
    .value=${live(store.view[name])}
    @input=${(/** @type {Event} */ event) => change({ [name]: typedIn(event) }, 'typed')}
  />
</label>`

/** Whether a text is not a year. Nothing, or a sign alone, may still become one. @param {string} text */
const isNoYear = (text) => !/^\s*[\p{Dash}+]?\s*$/u.test(text) && readYear(text) === undefined

/** Moves the focus, because the button that was pressed disappears. @param {Partial<typeof store.view>} changes */
function clear(changes) {
  change(changes, 'chosen')
  find('search input')?.focus()
}

function countText() {
  const { pages, isSlow, isCounting } = store
  if (pages === undefined) return ''
  if (isSlow) return words.list.loading
  if (pages.count === undefined) return isCounting ? words.list.counting : ''
  return books(pages.count)
}

/** The key in `localStorage` of the choice of higher rows. */
const ROOMY = `roomy rows of ${location.pathname}`

const isRoomy = () => document.documentElement.classList.contains('roomy')

/** Makes the rows higher or lower, and keeps the choice. */
function toggleRoomy() {
  const isIt = document.documentElement.classList.toggle('roomy')
  stored(() => (isIt ? localStorage.setItem(ROOMY, 'yes') : localStorage.removeItem(ROOMY)))
  scrolled()
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
  const { pages, view, isSlow } = store
  if (pages === undefined)
    return html`<p class="state" role="status">${words.list.first}</p>
    <div class="rows" aria-hidden="true">${Array.from({ length: 12 }, () => html`<div class="row loading"><span class="bone"></span></div>`)}</div>`
  const { error } = pages
  const retry = () => pages.retry()
  if (error !== undefined && pages.length === 0) {
    if (!(error instanceof Refused))
      return state(awayText(error), words.list.retrying, words.list.retryNow, retry)
    const { status, message } = error
    if ([414, 431].includes(status) || message.endsWith(' words'))
      return state(words.list.tooLong, words.list.tooLongHint, words.showAll, showAll)
    return status === 400
      ? state(words.list.failed, message, words.showAll, showAll)
      : state(words.list.failed, message, words.list.tryAgain, retry)
  }
  if (pages.isComplete && pages.length === 0) {
    if (pages.isOfDuplicates)
      return state(words.list.noDuplicates, words.list.noDuplicatesHint, words.showAll, showAll)
    if (filterOf(view) === '') return empty()
    return pages.isPartial
      ? state(words.list.noneYet, words.list.partial, words.list.searchAgain, () => load())
      : state(words.list.none, words.list.noneHint, words.showAll, showAll)
  }
  const { partial, searchAgain, duplicates, retrying, retryNow } = words.list
  const selectCopies = () => selecting.use((part) => part.selectCopies())
  return html`
    ${pages.isPartial ? banner('status', partial, searchAgain, () => load()) : nothing}
    ${pages.isOfDuplicates ? banner('status', duplicates, words.selection.selectCopies, selectCopies) : nothing}
    ${printedText()}
    <div class="rows" tabindex="-1" aria-busy=${isSlow} @scroll=${scrolled}>${bookTable(actions)}</div>
    ${sight()}
    ${
      error === undefined
        ? nothing
        : banner(
            'alert',
            error instanceof Refused ? error.message : `${awayText(error)}. ${retrying}`,
            retryNow,
            retry,
          )
    }
  `
}

/** @param {string} role @param {string} text @param {string} label @param {() => void} action */
const banner = (role, text, label, action) => html`<p class="away" role=${role}>
  ${text} <button type="button" @click=${action}>${label}</button>
</p>`

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

/**
 * Once a list is shown, loads all parts, so that they work even if the service is unavailable later. Gives the list the
 * focus if nothing has it, so that PageDown scrolls it.
 */
function arrived() {
  void Promise.allSettled([editor, transfer, exporting, selecting, charts].map(({ get }) => get()))
  if (document.activeElement === document.body && openDialog() === undefined)
    find('.rows')?.focus({ preventScroll: true })
}

/** Removes the notice about a proxy. */
let dismissProxy = () => {}

/** What was pressed last, and as which click of several, by the type of the event. */
const presses = /** @type {Record<string, { detail: number, control: Element | null }>} */ ({})

/**
 * The second click of a double-click presses nothing that the first one has put under the pointer, such as "Delete".
 * @param {MouseEvent} event
 */
function guardSecondClick(event) {
  const { type, detail, target } = event
  const control = target instanceof Element ? target.closest('button, a, [role=row]') : null
  const before = presses[type]
  presses[type] = { detail, control }
  // There are no events of a button that is still disabled.
  const isNext = detail > 1 && before?.detail === detail - 1
  if (!isNext || control === null || before.control === control) return
  presses[type] = { detail, control: before.control }
  event.preventDefault()
  event.stopImmediatePropagation()
}

function reload() {
  dispatchEvent(new Event('reloading'))
  location.reload()
}

whenIntercepted((text) => {
  dismissProxy()
  const actions = [{ label: words.reload, run: reload, staysAfter: true }]
  dismissProxy = text === undefined ? () => {} : tell({ text, actions, stays: true })
})
startLogin()
acceptDrops()
addEventListener('mousedown', guardSecondClick, true)
addEventListener('click', guardSecondClick, true)
// A wide window has no menu of years.
matchMedia('(max-width: 40rem)').addEventListener('change', hideMenus)
// The element that opened a dialog may be gone when the dialog is closed.
addEventListener('close', () => restoreFocus(), true)
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event
  if (
    key === 'p' &&
    (ctrlKey || metaKey) &&
    !altKey &&
    store.pages !== undefined &&
    openDialog() === undefined
  ) {
    event.preventDefault()
    printList()
  }
  // Elsewhere the key may not be meant as a shortcut, as when speech input types it (WCAG 2.2, 2.1.4).
  const isInList = target instanceof Element && target.closest('.rows') !== null
  if (key !== '/' || ctrlKey || metaKey || altKey || !isInList) return
  event.preventDefault()
  find('.q input')?.focus()
})
document.documentElement.classList.toggle('roomy', stored(() => localStorage.getItem(ROOMY)) === 'yes')
for (const type of ['resize', 'scroll']) addEventListener(type, scrolled)
const app = document.getElementById('app')
effect(() => {
  const { q } = store.view
  document.title = q.trim() === '' ? words.catalogue : words.searchTitle(q.trim())
  if (app !== null && drawAround(() => render(page(), app))) untracked(arrived)
})
startStore()
// After the store. Chromium sends no `hashchange` if a step also leads to another list.
addEventListener('popstate', openLinked)
const draft = takeDraft()
if (draft !== undefined) editor.use((part) => part.resume(draft))
else if (linked() !== undefined) openLinked()
