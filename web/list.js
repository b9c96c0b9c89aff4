import { batch, untracked } from '@preact/signals-core'
import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { find, focusCell, reactive, restoreFocus } from './dialog.js'
import { FIELDS, legible, oneLine, quote, writeYear } from './fields.js'
import { addressOf, change, findEnd, keepPlace, reading, store } from './store.js'
import { words, yearText } from './words.js'

/**
 * The grid of books (WAI-ARIA Authoring Practices, "Grid Pattern"). Only the rows around those in sight and the row
 * with the focus are in the document.
 *
 * @typedef {typeof FIELDS[number]} Column
 * @typedef {object} Actions of the modules that are loaded later.
 * @property {(id: number) => void} edit
 * @property {(row: number, isRange: boolean, from?: number) => void} select toggles a row, or selects all up to it.
 * @property {() => void} selectAll
 */

/** Rows that are drawn before and after those in sight, so that the keyboard always finds the next one. */
const SPARE = 12

/** Browsers show elements of at most some 17 million pixels. A list that would be higher is scaled to this height. */
const MAX_HEIGHT = 15_000_000

/** The columns of cells: before those of the fields is the one with the boxes that select rows. */
const [FIRST, LAST] = [0, FIELDS.length]

/** How long the rows in sight are named after the last scrolling, in milliseconds. */
const TOLD = 1500

/** The longest author that can be a filter, in UTF-16 code units: the address has to have room for it. */
const LONGEST_AUTHOR = 500

/** Whether the column headings are shown: a narrow window has no space for them. */
const hasHead = () => find('.head')?.checkVisibility() !== false

/** The row of column headings. */
const HEAD = -1

const state = reactive({
  /** The cell that had the focus last, and its list. */
  active: { row: 0, column: 1, pages: store.pages },
  /** Is another number once the list was scrolled. */
  scrolls: 0,
  /** The rows in sight while the list scrolls, from 1. */
  sight: /** @type {{ first: number, last: number } | undefined} */ (undefined),
  /** Whether the rows in memory are drawn for printing, instead of those in sight. */
  isPrinting: false,
  /** Finds what to mark; loaded with the first search. */
  finding: /** @type {typeof import('./found.js') | undefined} */ (undefined),
})

/** The cell that Tab leads to, as it was drawn last. */
let stop = { row: 0, column: 1 }

/** What was drawn last. @type {{ pages?: typeof store.pages | undefined, count?: number | undefined, top: number, layout: string, showsCharts: boolean }} */
let drawn = { top: 0, layout: '', showsCharts: false }

let telling = 0

/** Where the mouse, or what else, was pressed last, in pixels. */
let pressed = { pointerType: '', clientX: 0, clientY: 0 }

/** How far a hand may tremble in a click, in pixels. */
const TREMBLE = 8

/** @param {PointerEvent} event */
function press({ pointerType, clientX, clientY }) {
  pressed = { pointerType, clientX, clientY }
}

/**
 * Whether the mouse was moved while it was pressed, as one does to select text. A click without `detail` is by a key;
 * a browser moves that of a finger to what it takes for its target.
 * @param {MouseEvent} event
 */
const wasDragged = ({ detail, clientX, clientY }) =>
  detail > 0 &&
  pressed.pointerType === 'mouse' &&
  Math.hypot(clientX - pressed.clientX, clientY - pressed.clientY) > TREMBLE

const list = () => find('.rows')
const grid = () => find('[role=grid]')
const hasFocus = () => grid()?.contains(document.activeElement) === true
const rowHeight = () =>
  Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))

/** Whether the list scrolls by itself, and the height of a row; nothing if there is no list. */
function layoutNow() {
  const element = list()
  return element === null ? '' : `${getComputedStyle(element).overflowY} ${rowHeight()}`
}

const length = () => store.pages?.length ?? 0

/**
 * Which rows to draw, and where. The list scrolls by itself or, in a small window, with the whole web page.
 * @returns rows `first` to `end` (exclusive) are drawn, with `before` and `after` pixels around them; `inSight` rows
 *   are in sight, from row `top`.
 */
export function rowsInSight() {
  void state.scrolls
  const [element, row] = [list(), rowHeight()]
  const inSight = Math.ceil(Math.min(element?.clientHeight ?? innerHeight, innerHeight) / row)
  const height = Math.min(length() * row, MAX_HEIGHT)
  const scrolled = Math.max(element?.scrollTop ?? 0, -(element?.getBoundingClientRect().top ?? 0))
  const top = Math.min(scrolled, height)
  /** How many rows pass when the list scrolls by the height of one: more than 1 at `MAX_HEIGHT`. */
  const scale = height < MAX_HEIGHT ? 1 : (length() - inSight - SPARE) / (height / row - inSight - SPARE)
  // As in `heightTo`.
  const topRow = Math.floor(top / row + Math.max(top / row - SPARE, 0) * (scale - 1))
  const first = Math.max(topRow - SPARE, 0)
  const end = Math.min(first + inSight + 2 * SPARE, length())
  const before = scale === 1 ? first * row : Math.max(top - SPARE * row, 0)
  const after = Math.max(height - before - (end - first) * row, 0)
  return { first, end, before, after, inSight, scale, top: topRow }
}

/**
 * How far down a row is, in pixels. The first rows are not scaled: no rows are left out before them.
 * @param {number} row @param {number} scale
 */
function heightTo(row, scale) {
  // Half a row more, because rounded pixels must not lead to the row before.
  return (scale > 1 && row > SPARE ? SPARE + (row - SPARE + 0.5) / scale : row) * rowHeight()
}

/** @param {Actions} actions */
export function bookTable(actions) {
  const { pages, view } = store
  if (view.q !== '' && state.finding === undefined) void loadFinding()
  const searched = state.finding?.searchedWords(view.q) ?? []
  const sight = rowsInSight()
  const { first, end } = state.isPrinting ? pages.kept : sight
  const [before, after] = state.isPrinting ? [0, 0] : [sight.before, sight.after]
  const rows = Array.from({ length: end - first }, (_, index) => first + index)
  stop = stopIn(sight)
  const isApart = (/** @type {number} */ row) => row !== HEAD && (row < first || row >= end)
  if (isApart(stop.row) && !state.isPrinting) rows[stop.row < first ? 'unshift' : 'push'](stop.row)
  const placeOf = (/** @type {number} */ row) =>
    isApart(row) ? pixels('top', heightTo(row, sight.scale) + rowHeight()) : nothing
  return html`<div
    role="grid"
    aria-label=${words.list.label}
    aria-multiselectable="true"
    aria-rowcount=${pages.count === undefined ? -1 : pages.count + 1}
    @keydown=${(/** @type {KeyboardEvent} */ event) => navigate(event, actions)}
    @focusin=${takeFocus}
  >
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex="1">${selectAllHeader(actions)} ${FIELDS.map(header)}</div>
    </div>
    <div role="presentation" .style=${pixels('height', before)}></div>
    <div role="rowgroup">
      ${repeat(
        rows,
        (row) => row,
        (row) => bookRow(row, placeOf(row), searched, actions),
      )}
    </div>
    <div role="presentation" .style=${pixels('height', after)}></div>
  </div>`
}

/** A style. The policy of the page forbids the attribute, not the property. @param {string} property @param {number} value */
const pixels = (property, value) => `${property}: ${value}px`

/** Says which rows are in sight while the list scrolls. */
export const sight = () =>
  state.sight === undefined
    ? nothing
    : html`<p class="sight" aria-hidden="true">${words.list.sight(state.sight.first, state.sight.last, store.pages.count)}</p>`

/** Says which books are printed: only those in memory. */
export function printedText() {
  if (!state.isPrinting) return nothing
  const { pages } = store
  const { first, end } = pages.kept
  const isAll = first === 0 && end === pages.length && pages.isComplete
  return html`<p>${isAll ? words.list.printedAll(end) : words.list.printed(first + 1, end, pages.count)}</p>`
}

/**
 * Draws the page, keeps the place in the list and the focus, and reads the rows that are in sight.
 * @param {() => void} render @returns {boolean} whether the list is another than before.
 */
export function drawAround(render) {
  const { pages } = store
  const isOther = pages !== undefined && pages !== drawn.pages
  if (isOther) untracked(() => void begin())
  const before = document.activeElement?.closest('.rows, .state, .charts')
  render()
  if (before != null && document.activeElement === document.body) {
    if (before.matches('.charts')) find('button.statistics')?.focus()
    else if (grid() === null) restoreFocus()
    else focusCell({ preventScroll: true })
  }
  const { first, end, top } = rowsInSight()
  const isNewlyCounted = !isOther && drawn.count === undefined && pages?.count !== undefined
  const { showsCharts } = store
  const [last, layout] = [drawn, layoutNow()]
  drawn = { pages, count: pages?.count, top, layout, showsCharts }
  untracked(() => {
    // The list has the height of all its books now. Those in sight stay the same.
    if (isNewlyCounted && last.top > 0 && last.top !== top) showFrom(last.top)
    if (!isOther && last.layout !== '' && layout !== '' && layout !== last.layout) {
      // Charts that are opened stay in sight. Once they are closed, the browser itself scrolls the list as before.
      // And what was not scrolled stays as it is.
      if (showsCharts === last.showsCharts && (top > 0 || last.top > 0))
        scrollTo(last.top, rowsInSight().scale)
      scrolled()
    }
    pages?.reach(first, end)
  })
  return isOther
}

/**
 * The cell that Tab leads to: the one that had the focus last, or one in sight.
 * @param {ReturnType<typeof rowsInSight>} rows
 */
function stopIn({ first, end, top }) {
  const { row, column, pages } = state.active
  let stop = row !== HEAD && pages !== store.pages ? 0 : Math.min(row, length() - 1)
  if (stop === HEAD && !hasHead()) stop = 0
  const isInSight = stop === HEAD || (stop >= first && stop < end)
  if (!isInSight && !state.isPrinting && !hasFocus()) stop = Math.min(top, end - 1)
  return { row: stop, column }
}

/** Shows what is in sight now, and says so for a while. */
export function scrolled() {
  if (store.pages === undefined) return
  const { top, inSight } = rowsInSight()
  const last = Math.min(top + inSight, store.pages.count ?? store.pages.known)
  // Drawing may lead to another place.
  keepPlace(top)
  batch(() => {
    state.sight = top === 0 ? undefined : { first: top + 1, last }
    state.scrolls++
  })
  clearTimeout(telling)
  telling = setTimeout(() => {
    state.sight = undefined
  }, TOLD)
}

/** Shows a list that has just arrived from its first row, or from the one that the user comes back to. */
async function begin() {
  const { pages } = store
  const element = list()
  element?.scrollTo(0, 0)
  if (element && element.getBoundingClientRect().top < 0) element.scrollIntoView()
  const { startRow } = pages
  if (startRow === 0) return
  // With the rows below it: the list has to be high enough to scroll there.
  await reading(pages.read(startRow, startRow + rowsInSight().inSight + 1))
  // Unless the list was scrolled meanwhile, or is to be scrolled elsewhere.
  if (pages === store.pages && pages.startRow > 0 && rowsInSight().top === 0) showFrom(startRow)
}

/** Scrolls to a row unless it is in sight. @param {number} row */
export function reveal(row) {
  state.active = { row, column: 1, pages: store.pages }
  const { top, inSight, scale } = rowsInSight()
  if (row <= top || row >= top + inSight - 2) scrollTo(Math.max(row - Math.floor(inSight / 2), 0), scale)
  state.scrolls++
}

/** @param {number} row */
function showFrom(row) {
  scrollTo(row, rowsInSight().scale)
  state.scrolls++
}

for (const type of ['beforeprint', 'afterprint'])
  addEventListener(type, () => {
    state.isPrinting = type === 'beforeprint'
  })

/** Makes the focused cell the one that Tab leads to. @param {FocusEvent} event */
function takeFocus({ target }) {
  const cell = /** @type {HTMLElement} */ (target).closest('[aria-colindex]')
  const row = cell?.closest('[aria-rowindex]')
  if (!cell || !row) return
  const [rowIndex, column] = [Number(row.ariaRowIndex) - 2, Number(cell.ariaColIndex) - 1]
  state.active = { row: rowIndex, column, pages: store.pages }
}

/** @param {KeyboardEvent} event @param {Actions} actions */
function navigate(event, actions) {
  const { edit, select, selectAll } = actions
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event
  const { row, column } = state.active
  const isControl = event.target instanceof Element && event.target.matches('button, input, a')
  if (key === 'a' && (ctrlKey || metaKey)) {
    event.preventDefault()
    return store.selected.size < store.pages.length ? selectAll() : undefined
  }
  if (altKey || metaKey) return
  if (key === ' ' && row !== HEAD && (shiftKey || column !== FIRST)) {
    event.preventDefault()
    return select(row, false)
  }
  const isExtending = shiftKey && !ctrlKey && (key === 'ArrowDown' || key === 'ArrowUp') && row !== HEAD
  if (shiftKey && !isExtending) return
  const page = pageLength()
  if (key === 'Enter' && !isControl) {
    const book = store.pages.book(row)
    if (book) edit(book.id)
    return
  }
  /** @type {Record<string, { row: number, column: number }>} */
  const ways = ctrlKey
    ? { Home: { row: 0, column: FIRST } }
    : {
        ArrowDown: { row: row + 1, column },
        ArrowUp: { row: row - 1, column },
        ArrowLeft: { row, column: column - 1 },
        ArrowRight: { row, column: column + 1 },
        PageDown: { row: row + page, column },
        PageUp: { row: Math.max(row - page, Math.min(row, 0)), column },
        Home: { row, column: FIRST },
        End: { row, column: LAST },
      }
  const to = ways[key]
  const isEnd = ctrlKey && key === 'End'
  if (to === undefined && !isEnd) return
  event.preventDefault()
  if (to !== undefined) return goTo(to, isExtending ? select : undefined)
  void findEnd().then(() => {
    if (hasFocus()) goTo({ row: length() - 1, column: LAST })
  })
}

/** Moves the focus to a cell. @param {typeof stop} to @param {Actions['select']} [select] also selects up to it. */
function goTo(to, select) {
  const page = pageLength()
  const from = state.active.row
  const row = Math.min(Math.max(to.row, hasHead() ? HEAD : 0), length() - 1)
  state.active = { row, column: Math.min(Math.max(to.column, FIRST), LAST), pages: store.pages }
  if (row !== HEAD) select?.(row, true, from)
  const { first, end, top, scale } = rowsInSight()
  const isDrawn = row === HEAD || (row >= first && row < end)
  // With a scale, the browser would scroll too far by itself.
  if (!isDrawn || (scale > 1 && row < top)) scrollTo(row, scale)
  else if (scale > 1 && row >= top + page) scrollTo(row - page + 1, scale)
  state.scrolls++
  focusCell({ preventScroll: scale > 1 })
}

/** How many rows PageDown moves by. */
const pageLength = () => Math.max(rowsInSight().inSight - 2, 1)

/** @param {number} row @param {number} scale */
function scrollTo(row, scale) {
  const element = list()
  if (element === null) return
  const pixels = heightTo(row, scale)
  if (element.scrollHeight > element.clientHeight) element.scrollTop = pixels
  else window.scrollBy(0, element.getBoundingClientRect().top + pixels)
}

/** @param {number} row @param {number} column */
const tabindex = (row, column) => (stop.row === row && stop.column === column ? 0 : -1)

/** @param {Actions} actions */
function selectAllHeader({ selectAll }) {
  const { pages, selected } = store
  const isAll = pages.isComplete && selected.size >= pages.length
  return html`<div role="columnheader" class="select" aria-colindex="1">
    <input
      type="checkbox"
      aria-label=${words.selection.selectAll}
      tabindex=${tabindex(HEAD, 0)}
      .checked=${live(isAll)}
      .indeterminate=${live(selected.size > 0 && !isAll)}
      @click=${selectAll}
    />
  </div>`
}

/** @param {Column} column @param {number} index */
function header(column, index) {
  const { sort } = store.view
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : 'none'
  // Ascending, then descending, then in the order of the service.
  const next = sort === column ? `-${column}` : sort === `-${column}` ? '' : column
  return html`<div role="columnheader" class=${column} aria-sort=${order} aria-colindex=${index + 2}>
    <button type="button" tabindex=${tabindex(HEAD, index + 1)} @click=${() => change({ sort: next }, 'chosen')}>${words.list[column]}</button>
  </div>`
}

/**
 * @param {number} row
 * @param {string | typeof nothing} place of a row that is drawn apart from the others, only because it has the focus.
 * @param {readonly string[]} searched folded words. @param {Actions} actions
 */
function bookRow(row, place, searched, { edit, select }) {
  const { pages, view, selected, marked, opened } = store
  const book = pages.book(row)
  const isSelected = book !== undefined && selected.has(book.id)
  const name = `row${place === nothing ? '' : ' apart'}${isSelected ? ' selected' : ''}${pages.isCopy(row) ? ' copy' : ''}`
  if (book === undefined) {
    const { column } = stop
    return html`<div role="row" class=${`${name} loading`} .style=${place} aria-rowindex=${row + 2}>
      <div role="gridcell" aria-colindex=${column + 1} tabindex=${tabindex(row, column)}><span class="bone" role="img" aria-label=${words.list.loading}></span></div>
    </div>`
  }
  const { id, title, author, year } = book
  const isChoice = author.trim() !== '' && author.length <= LONGEST_AUTHOR
  const choose = (/** @type {MouseEvent} */ event) => {
    event.stopPropagation()
    select(row, event.shiftKey)
  }
  const click = (/** @type {MouseEvent} */ event) => {
    const { target, ctrlKey, metaKey, shiftKey } = event
    const link = target instanceof Element ? target.closest('a') : null
    if (link && (ctrlKey || metaKey || shiftKey)) return
    event.preventDefault()
    if (wasDragged(event)) return
    if (link?.closest('.author')) change({ author }, 'chosen')
    else edit(id)
  }
  return html`<div role="row" class=${id === marked ? `${name} added` : name} .style=${place} aria-rowindex=${row + 2} aria-selected=${isSelected} aria-current=${id === opened ? 'true' : nothing} @pointerdown=${press} @click=${click}>
    <div role="gridcell" class="select" aria-colindex="1" @click=${choose}>
      <input type="checkbox" aria-label=${words.selection.select(quote(title))} tabindex=${tabindex(row, 0)} .checked=${live(isSelected)} />
    </div>
    <div role="gridcell" class="title" aria-colindex="2">
      <a dir="auto" draggable="false" href=${`#book=${id}`} tabindex=${tabindex(row, 1)}>${highlighted(legible(title), searched)}</a>
    </div>
    <div role="gridcell" class="author" aria-colindex="3" tabindex=${isChoice ? nothing : tabindex(row, 2)}>${
      isChoice
        ? html`<a dir="auto" draggable="false" href=${`?${addressOf({ ...view, author })}`} title=${words.list.byAuthor} tabindex=${tabindex(row, 2)}>${highlighted(oneLine(author), searched)}</a>`
        : html`<bdi>${oneLine(author)}</bdi>`
    }</div>
    <div role="gridcell" class="year" aria-colindex="4" title=${titleOf(year)} tabindex=${tabindex(row, 3)}>${writeYear(year)}</div>
  </div>`
}

/** What the year of a row stands for. @param {number} year */
function titleOf(year) {
  if (year === 0) return words.unknownYear
  return yearText(year) === writeYear(year) ? nothing : yearText(year)
}

/** @param {string} text @param {readonly string[]} searched */
const highlighted = (text, searched) =>
  (state.finding?.splitByMatches(text, searched) ?? [text]).map((part, index) =>
    index % 2 === 0 ? part : html`<mark>${part}</mark>`,
  )

async function loadFinding() {
  try {
    state.finding = await import('./found.js')
  } catch {
    // The list works without marks. The next drawing of rows tries again.
  }
}
