import { html } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'

/**
 * @typedef {import('./pages.js').BookPages} BookPages
 * @typedef {'title' | 'author' | 'year'} Column
 * @typedef {{ pages: BookPages, sort: string, sortBy(column: Column): void, edit(id: number): void }} Properties
 */

/** Rows that are there beyond those in sight, so that the keyboard always finds the next one. */
const SPARE = 12

/** No browser shows an element of more than some 17 million pixels; from here on a pixel is more than one. */
const MAX_HEIGHT = 15_000_000

/** @type {readonly (readonly [Column, string])[]} */
const COLUMNS = [
  ['title', 'Title'],
  ['author', 'Author'],
  ['year', 'Year'],
]

/** Which rows are to be drawn, and where. @param {number} length how many there are. */
export function rowsInSight(length) {
  const list = document.querySelector('.rows')
  const rowHeight = Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))
  const inSight = Math.ceil((list?.clientHeight ?? innerHeight) / rowHeight)
  const height = Math.min(length * rowHeight, MAX_HEIGHT)
  const top = Math.min(list?.scrollTop ?? 0, height)
  const scale = height < MAX_HEIGHT ? 1 : ((length - inSight) / (height - inSight * rowHeight)) * rowHeight
  const first = Math.max(Math.floor((top / rowHeight) * scale) - SPARE, 0)
  const end = Math.min(first + inSight + 2 * SPARE, length)
  const before = scale === 1 ? first * rowHeight : Math.max(top - SPARE * rowHeight, 0)
  return { first, end, before, after: Math.max(height - before - (end - first) * rowHeight, 0) }
}

/**
 * The table of books: only the rows in sight are in the document.
 * @param {Properties} properties
 */
export function bookTable({ pages, sort, sortBy, edit }) {
  const { first, end } = rowsInSight(pages.length)
  const rows = Array.from({ length: end - first }, (_, index) => first + index)
  return html`<div
    role="table"
    aria-label="Books"
    aria-rowcount=${pages.isComplete ? pages.length + 1 : -1}
    @keydown=${moveFocus}
  >
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex="1">${COLUMNS.map(([column, label]) => header(column, label, sort, sortBy))}</div>
    </div>
    <div class="before" role="presentation"></div>
    <div role="rowgroup">
      ${repeat(
        rows,
        (row) => pages.book(row)?.id ?? `row ${row}`,
        (row) => bookRow(row, pages.book(row), edit),
      )}
    </div>
    <div class="after" role="presentation"></div>
  </div>`
}

/** Sets the heights that stand for the rows that are not drawn: a policy without inline styles leaves only this way. @param {number} length */
export function placeRows(length) {
  const { before, after } = rowsInSight(length)
  for (const [selector, height] of /** @type {const} */ ([
    ['.before', before],
    ['.after', after],
  ])) {
    const element = /** @type {HTMLElement | null} */ (document.querySelector(selector))
    if (element !== null) element.style.height = `${height}px`
  }
}

/** @param {Column} column @param {string} label @param {string} sort @param {(column: Column) => void} sortBy */
function header(column, label, sort, sortBy) {
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : 'none'
  return html`<div role="columnheader" class=${column} aria-sort=${order}>
    <button type="button" @click=${() => sortBy(column)}>${label}</button>
  </div>`
}

/** @param {number} row @param {import('./service.js').Book | undefined} book @param {(id: number) => void} edit */
function bookRow(row, book, edit) {
  if (book === undefined)
    return html`<div role="row" class="row loading" aria-rowindex=${row + 2}><div role="cell">…</div></div>`
  const { id, title, author, year } = book
  return html`<div role="row" class="row" aria-rowindex=${row + 2} @click=${() => edit(id)}>
    <div role="cell" class="title">
      <button type="button" dir="auto" title="Edit">${title.slice(0, 300) || '(no title)'}</button>
    </div>
    <div role="cell" class="author" dir="auto">${author.slice(0, 300)}</div>
    <div role="cell" class="year">${year}</div>
  </div>`
}

/** The arrow keys go from book to book. @param {KeyboardEvent} event */
function moveFocus(event) {
  const row = /** @type {HTMLElement} */ (event.target).closest('.row')
  const other =
    event.key === 'ArrowDown'
      ? row?.nextElementSibling
      : event.key === 'ArrowUp'
        ? row?.previousElementSibling
        : null
  const button = other?.querySelector('button')
  if (!button) return
  event.preventDefault()
  button.focus()
}
