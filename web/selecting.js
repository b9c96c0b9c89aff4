import { html, nothing } from 'lit-html'
import { bookListener } from './changes.js'
import { icon } from './icons.js'
import { restoreFocus } from './list.js'
import { isCurrent, load, pages, reading, redraw } from './listing.js'
import { tell } from './notices.js'
import { MOST, select, selected } from './pages.js'
import { deleteSelected, editSelected, exportAsCsv } from './selected.js'
import { Refused } from './service.js'
import { words } from './words.js'

/** @typedef {import('./pages.js').BookPages} BookPages */

/** @type {import('./selected.js').Listener} */
const listener = { ...bookListener, edited: load, selectionChanged }

/** The row at which a range begins, and its list. @type {{ pages: BookPages, row: number } | undefined} */
let anchor

function selectionChanged() {
  redraw()
  restoreFocus()
}

/** @param {number} row @param {boolean} isRange selects all up to it. @param {number} [from] see `rangeTo`. */
export async function selectRow(row, isRange, from) {
  if (isRange) await selectRows(rangeTo(pages, row, from))
  else if (isCurrent(pages)) toggle(pages, row)
  redraw()
}

/** Selects all books of the list, or none if all are selected. */
export async function selectAll() {
  if (pages.isComplete && selected.size >= pages.length) selected.clear()
  else if (pages.length > MOST) tell({ text: words.selection.tooMany(MOST) })
  else await selectRows({ first: 0, end: MOST })
  redraw()
}

/** Selects all likely duplicates except, of each book, the one that was added first. */
export function selectCopies() {
  selected.clear()
  select(listed().filter((_, row) => pages.isCopy(row)))
  redraw()
}

export const exportListed = () => exportAsCsv(listed())

/** The books of the list, which has to be in memory as a whole. */
const listed = () =>
  Array.from({ length: pages.length }, (_, row) => pages.book(row)).filter((book) => book !== undefined)

/** @param {{ first: number, end: number }} rows */
async function selectRows({ first, end }) {
  const some = pages
  const read = await reading(some.read(first, end).catch((error) => readAgain(error, some, first, end)))
  if (read && some.query === pages.query && isCurrent(pages)) select(read)
}

/**
 * The service refuses its cursors after a restart with another secret. Then the list is read from its beginning.
 * @param {unknown} error @param {BookPages} some @param {number} first @param {number} end
 */
function readAgain(error, some, first, end) {
  if (!(error instanceof Refused) || error.status !== 400 || !isCurrent(some)) throw error
  return load().read(first, end)
}

function clear() {
  selected.clear()
  selectionChanged()
}

export const buttons = () => html`
  ${
    pages.count !== undefined && selected.size < pages.count && pages.count <= MOST
      ? html`<button type="button" class="quiet" @click=${selectAll}>${icon('all')}<span>${words.selection.selectAllOf(pages.count)}</span></button>`
      : nothing
  }
  <button type="button" class="quiet" @click=${() => editSelected(listener)}>${icon('edit')}<span>${words.selection.edit}</span></button>
  <button type="button" class="quiet" @click=${() => exportAsCsv(selected.values())}>${icon('export')}<span>${words.selection.export}</span></button>
  <button type="button" class="quiet delete" @click=${() => deleteSelected(listener)}>${icon('delete')}<span>${words.selection.delete}</span></button>
  <button type="button" class="quiet" aria-label=${words.selection.clear} title=${words.selection.clear} @click=${clear}>${icon('close')}</button>
`

/** Selects or deselects the book of a row. @param {BookPages} pages @param {number} row */
function toggle(pages, row) {
  const book = pages.book(row)
  anchor = { pages, row }
  if (book !== undefined && !selected.delete(book.id)) select([book])
}

/**
 * The rows from the anchor to another one.
 * @param {BookPages} pages @param {number} row
 * @param {number} [from] becomes the anchor, unless its book is selected already.
 */
function rangeTo(pages, row, from = row) {
  const book = pages.book(from)
  const isNew = from !== row && book !== undefined && !selected.has(book.id)
  if (isNew || anchor?.pages !== pages) anchor = { pages, row: from }
  const [first, last] = [Math.min(anchor.row, row), Math.max(anchor.row, row)]
  return { first, end: Math.min(last + 1, first + MOST) }
}
