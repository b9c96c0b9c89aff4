import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { linked } from './address.js'
import { selected } from './pages.js'
import { legible, oneLine, quote, writeYear } from './text.js'
import { words, yearText } from './words.js'

/**
 * @typedef {import('./pages.js').BookPages} BookPages
 * @typedef {'title' | 'author' | 'year'} Column
 * @typedef {object} Properties
 * @property {BookPages} pages
 * @property {string} sort
 * @property {(column: Column) => void} sortBy
 * @property {string} q what is searched for.
 * @property {(change: { author: string }) => string} linkTo the address of the list with this change.
 * @property {(author: string) => void} chooseAuthor
 * @property {(id: number) => void} edit
 * @property {(row: number, isRange: boolean, from?: number) => void} select toggles a row, or selects all up to it.
 * @property {() => void} selectAll
 * @property {() => Promise<void>} findEnd finds out how many rows there are.
 * @property {() => void} redraw draws the rows that are now in sight.
 */

/** Rows that are drawn before and after those in sight, so that the keyboard always finds the next one. */
const SPARE = 12

/** Browsers show elements of at most some 17 million pixels. A list that would be higher is scaled to this height. */
const MAX_HEIGHT = 15_000_000

/** @type {readonly Column[]} */
const COLUMNS = ['title', 'author', 'year']

/** The columns of cells: before `COLUMNS` is the one with the boxes that select rows. */
const [FIRST, LAST] = [0, COLUMNS.length]

/** The longest author that can be a filter, in UTF-16 code units: the address has to have room for it. */
const LONGEST_AUTHOR = 500

/** Whether the column headings are shown: a narrow window has no space for them. */
const hasHead = () => find('.head')?.checkVisibility() !== false

/** The row of column headings. */
const HEAD = -1

/** The cell that has the focus, or gets it by Tab. */
let active = { row: 0, column: 1 }

/** The id of the book that was added last. @type {number | undefined} */
let marked

/** Where the mouse was pressed, in pixels. @type {{ clientX: number, clientY: number } | undefined} */
let pressed

/** How far a hand may tremble in a click, in pixels. */
const TREMBLE = 8

/** @param {PointerEvent} event */
function press({ clientX, clientY }) {
  pressed = { clientX, clientY }
}

/** Whether the mouse was moved while it was pressed, as one does to select text. @param {MouseEvent} event */
function wasDragged({ clientX, clientY }) {
  const from = pressed ?? { clientX, clientY }
  pressed = undefined
  return Math.hypot(clientX - from.clientX, clientY - from.clientY) > TREMBLE
}

/** Finds what to mark; loaded with the first search. @type {typeof import('./found.js') | undefined} */
let finding

/** Whether the rows in memory are drawn for printing, instead of those in sight. */
export let isPrinting = false

/** @param {boolean} isIt */
export function setPrinting(isIt) {
  isPrinting = isIt
}

/** @param {string} selector */
export const find = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))
const list = () => find('.rows')
const grid = () => find('[role=grid]')
const hasFocus = () => grid()?.contains(document.activeElement) === true
const rowHeight = () =>
  Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))

/**
 * Which rows to draw, and where. The list scrolls by itself or, in a small window, with the whole web page.
 * @param {number} length how many rows there are.
 * @returns rows `first` to `end` (exclusive) are drawn, with `before` and `after` pixels around them; `inSight` rows
 *   are in sight, from row `top`.
 */
export function rowsInSight(length) {
  const [element, row] = [list(), rowHeight()]
  const inSight = Math.ceil(Math.min(element?.clientHeight ?? innerHeight, innerHeight) / row)
  const height = Math.min(length * row, MAX_HEIGHT)
  const scrolled = Math.max(element?.scrollTop ?? 0, -(element?.getBoundingClientRect().top ?? 0))
  const top = Math.min(scrolled, height)
  /** How many rows pass when the list scrolls by the height of one: more than 1 at `MAX_HEIGHT`. */
  const scale = height < MAX_HEIGHT ? 1 : ((length - inSight) / (height - inSight * row)) * row
  const first = Math.max(Math.floor((top / row) * scale) - SPARE, 0)
  const end = Math.min(first + inSight + 2 * SPARE, length)
  const before = scale === 1 ? first * row : Math.max(top - SPARE * row, 0)
  const after = Math.max(height - before - (end - first) * row, 0)
  return { first, end, before, after, inSight, scale, top: Math.floor((top / row) * scale) }
}

/**
 * The grid of books (WAI-ARIA Authoring Practices, "Grid Pattern"). Only the rows around those in sight and the row
 * with the focus are in the document.
 * @param {Properties} properties
 */
export function bookTable(properties) {
  const { pages, sort, sortBy, q, redraw } = properties
  if (q !== '' && finding === undefined) void loadFinding(redraw)
  const searched = finding?.searchedWords(q) ?? []
  const opened = linked()
  const { first, end, top } = isPrinting ? { ...pages.kept, top: 0 } : rowsInSight(pages.length)
  const rows = Array.from({ length: end - first }, (_, index) => first + index)
  if (active.row >= pages.length) active = { ...active, row: pages.length - 1 }
  if (active.row === HEAD && !hasHead()) active = { ...active, row: 0 }
  const isInSight = active.row === HEAD || (active.row >= first && active.row < end)
  if (!isInSight && !isPrinting) {
    if (!hasFocus()) active = { ...active, row: Math.min(top, end - 1) }
    else if (active.row < first) rows.unshift(active.row)
    else rows.push(active.row)
  }
  return html`<div
    role="grid"
    aria-label=${words.list.label}
    aria-multiselectable="true"
    aria-rowcount=${pages.count === undefined ? -1 : pages.count + 1}
    @keydown=${(/** @type {KeyboardEvent} */ event) => navigate(event, properties)}
    @focusin=${(/** @type {FocusEvent} */ event) => takeFocus(event, properties)}
  >
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex="1">
        ${selectAllHeader(properties)} ${COLUMNS.map((column, index) => header(column, index + 1, sort, sortBy))}
      </div>
    </div>
    <div class="before" role="presentation"></div>
    <div role="rowgroup">
      ${repeat(
        rows,
        (row) => row,
        (row) => bookRow(row, row < first || row >= end, searched, opened, properties),
      )}
    </div>
    <div class="after" role="presentation"></div>
  </div>`
}

/**
 * Sets the heights that stand for rows not drawn, by script: the Content-Security-Policy forbids inline styles.
 * @param {number} length how many rows there are.
 */
export function placeRows(length) {
  const { before, after, scale } = rowsInSight(length)
  /** @type {(selector: string, property: 'height' | 'top', pixels: number) => void} */
  const place = (selector, property, pixels) => {
    const element = find(selector)
    if (element !== null) element.style[property] = `${pixels}px`
  }
  place('.before', 'height', isPrinting ? 0 : before)
  place('.after', 'height', isPrinting ? 0 : after)
  place('.row.apart', 'top', ((active.row + 1) * rowHeight()) / scale)
}

export function toTop() {
  if (active.row !== HEAD) active = { ...active, row: 0 }
  const element = list()
  element?.scrollTo(0, 0)
  if (element && element.getBoundingClientRect().top < 0) element.scrollIntoView()
}

/**
 * Scrolls to a new book and marks it.
 * @param {number} row @param {number} length how many rows there are. @param {number} id @param {() => void} redraw
 */
export function showRow(row, length, id, redraw) {
  mark(id)
  reveal(row, length, redraw)
}

/** Marks a book wherever it is listed. @param {number} id */
export function mark(id) {
  marked = id
}

/** Scrolls to a row unless it is in sight. @param {number} row @param {number} length @param {() => void} redraw */
export function reveal(row, length, redraw) {
  active = { row, column: 1 }
  const { top, inSight, scale } = rowsInSight(length)
  if (row <= top || row >= top + inSight - 2) scrollTo(Math.max(row - Math.floor(inSight / 2), 0), scale)
  redraw()
}

/** @param {number} row @param {number} length how many rows there are. @param {() => void} redraw */
export function showFrom(row, length, redraw) {
  scrollTo(row, rowsInSight(length).scale)
  redraw()
}

/** The topmost open dialog beside which nothing else can be used, if there is one. */
export const openDialog = () => Array.from(document.querySelectorAll('dialog:modal')).at(-1)

/** Moves the focus into a dialog or the list, if the element that had it is gone. @param {Element} [dialog] */
export function restoreFocus(dialog = openDialog()) {
  const now = document.activeElement
  // After a dialog was closed, an element in it has the focus until the browser renders, but has no rectangle.
  if (now !== null && now !== document.body && now.getClientRects().length > 0) return
  const place = dialog ?? (grid() === null ? find('main') : null)
  if (place === null) return focusActive()
  const first = /** @type {HTMLElement | null | undefined} */ (
    place?.querySelector('textarea, input, button')
  )
  first?.focus()
}

/** If drawing removes the focused element, focuses its cell or what replaced it. @param {() => void} draw */
export function keepingFocus(draw) {
  const part = document.activeElement?.closest('.rows, .state, .charts')
  draw()
  if (part == null || document.activeElement !== document.body) return
  if (part.matches('.charts')) find('button.statistics')?.focus()
  else if (grid() === null) restoreFocus()
  else focusActive({ preventScroll: true })
}

/** @param {FocusOptions} [options] */
function focusActive(options) {
  const cell = find(`[aria-rowindex="${active.row + 2}"] [aria-colindex="${active.column + 1}"]`)
  const target =
    /** @type {HTMLElement | null | undefined} */ (cell?.querySelector('button, input, a')) ?? cell
  target?.focus(options)
}

/** Makes the focused cell the one that Tab leads to. @param {FocusEvent} event @param {Properties} properties */
function takeFocus({ target }, { redraw }) {
  const cell = /** @type {HTMLElement} */ (target).closest('[aria-colindex]')
  const row = cell?.closest('[aria-rowindex]')
  if (!cell || !row) return
  active = { row: Number(row.ariaRowIndex) - 2, column: Number(cell.ariaColIndex) - 1 }
  redraw()
}

/** @param {KeyboardEvent} event @param {Properties} properties */
function navigate(event, properties) {
  const { pages, edit, select, selectAll, findEnd } = properties
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event
  const { row, column } = active
  const isControl = event.target instanceof Element && event.target.matches('button, input, a')
  if (key === 'a' && (ctrlKey || metaKey)) {
    event.preventDefault()
    return selectAll()
  }
  if (altKey || metaKey) return
  if (key === ' ' && row !== HEAD && (shiftKey || column !== FIRST)) {
    event.preventDefault()
    return select(row, false)
  }
  const isExtending = shiftKey && !ctrlKey && (key === 'ArrowDown' || key === 'ArrowUp') && row !== HEAD
  if (shiftKey && !isExtending) return
  const page = pageOf(pages)
  if (key === 'Enter' && !isControl) {
    const book = pages.book(row)
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
  if (to !== undefined) return goTo(to, properties, isExtending)
  void findEnd().then(() => {
    if (hasFocus()) goTo({ row: pages.length - 1, column: LAST }, properties)
  })
}

/**
 * Moves the focus to a cell.
 * @param {typeof active} to @param {Properties} properties @param {boolean} [isExtending] also selects up to it.
 */
function goTo(to, { pages, select, redraw }, isExtending = false) {
  const page = pageOf(pages)
  const from = active.row
  active = {
    row: Math.min(Math.max(to.row, hasHead() ? HEAD : 0), pages.length - 1),
    column: Math.min(Math.max(to.column, FIRST), LAST),
  }
  if (isExtending && active.row !== HEAD) select(active.row, true, from)
  const { first, end, top, scale } = rowsInSight(pages.length)
  const isDrawn = active.row === HEAD || (active.row >= first && active.row < end)
  // With a scale, the browser would scroll too far by itself.
  if (!isDrawn || (scale > 1 && active.row < top)) scrollTo(active.row, scale)
  else if (scale > 1 && active.row >= top + page) scrollTo(active.row - page + 1, scale)
  redraw()
  focusActive({ preventScroll: scale > 1 })
}

/** How many rows PageDown moves by. @param {BookPages} pages */
const pageOf = (pages) => Math.max(rowsInSight(pages.length).inSight - 2, 1)

/** @param {number} row @param {number} scale */
function scrollTo(row, scale) {
  const element = list()
  if (element === null) return
  // Half a row more, because rounded pixels must not lead to the row before.
  const pixels = (scale > 1 ? (row + 0.5) / scale : row) * rowHeight()
  if (element.scrollHeight > element.clientHeight) element.scrollTop = pixels
  else window.scrollBy(0, element.getBoundingClientRect().top + pixels)
}

/** @param {number} row @param {number} column */
const tabindex = (row, column) => (active.row === row && active.column === column ? 0 : -1)

/** @param {Properties} properties */
function selectAllHeader({ pages, selectAll }) {
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

/** @param {Column} column @param {number} index @param {string} sort @param {(column: Column) => void} sortBy */
function header(column, index, sort, sortBy) {
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : 'none'
  return html`<div role="columnheader" class=${column} aria-sort=${order} aria-colindex=${index + 1}>
    <button type="button" tabindex=${tabindex(HEAD, index)} @click=${() => sortBy(column)}>${words.list[column]}</button>
  </div>`
}

/**
 * @param {number} row @param {boolean} isApart whether it is drawn only because it has the focus.
 * @param {readonly string[]} searched folded words. @param {unknown} opened the id of the book that is open.
 * @param {Properties} properties
 */
function bookRow(row, isApart, searched, opened, { pages, linkTo, edit, select, chooseAuthor }) {
  const book = pages.book(row)
  const isSelected = book !== undefined && selected.has(book.id)
  const name = `row${isApart ? ' apart' : ''}${isSelected ? ' selected' : ''}${pages.isCopy(row) ? ' copy' : ''}`
  if (book === undefined)
    return html`<div role="row" class=${`${name} loading`} aria-rowindex=${row + 2}>
      <div role="gridcell" aria-colindex=${active.column + 1} tabindex=${tabindex(row, active.column)}><span class="bone" role="img" aria-label=${words.list.loading}></span></div>
    </div>`
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
    if (link?.closest('.author')) chooseAuthor(author)
    else edit(id)
  }
  return html`<div role="row" class=${id === marked ? `${name} added` : name} aria-rowindex=${row + 2} aria-selected=${isSelected} aria-current=${id === opened ? 'true' : nothing} @pointerdown=${press} @click=${click}>
    <div role="gridcell" class="select" aria-colindex="1" @click=${choose}>
      <input type="checkbox" aria-label=${words.selection.select(quote(title))} tabindex=${tabindex(row, 0)} .checked=${live(isSelected)} />
    </div>
    <div role="gridcell" class="title" aria-colindex="2">
      <a dir="auto" draggable="false" href=${`#book=${id}`} tabindex=${tabindex(row, 1)}>${highlighted(legible(title), searched)}</a>
    </div>
    <div role="gridcell" class="author" aria-colindex="3" tabindex=${isChoice ? nothing : tabindex(row, 2)}>${
      isChoice
        ? html`<a dir="auto" draggable="false" href=${linkTo({ author })} title=${words.list.byAuthor} tabindex=${tabindex(row, 2)}>${highlighted(oneLine(author), searched)}</a>`
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
  (finding?.splitByMatches(text, searched) ?? [text]).map((part, index) =>
    index % 2 === 0 ? part : html`<mark>${part}</mark>`,
  )

/** @param {() => void} redraw */
async function loadFinding(redraw) {
  try {
    finding = await import('./found.js')
    redraw()
  } catch {
    // The list works without marks. The next drawing of rows tries again.
  }
}
