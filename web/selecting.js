import { html, nothing } from 'lit-html'
import { bookListener } from './changes.js'
import { restoreFocus } from './list.js'
import { isCurrent, load, pages, reading, redraw } from './listing.js'
import { tell } from './notices.js'
import { deleteSelected, editSelected, exportAsCsv } from './selected.js'
import { MOST, select, selected } from './selection.js'
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

/** @param {number} row @param {boolean} isRange whether all books up to this one are selected. @param {number} [from] */
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

/** Selects the likely duplicates, of each book all but the one that was added first. */
export function selectCopies() {
  selected.clear()
  select(listed().filter((_, row) => pages.isCopy(row)))
  redraw()
}

/** Saves the likely duplicates as a CSV file. */
export const exportListed = () => exportAsCsv(listed())

/** The books of a list that is in memory as a whole. */
const listed = () =>
  Array.from({ length: pages.length }, (_, row) => pages.book(row)).filter((book) => book !== undefined)

/** @param {{ first: number, end: number }} rows */
async function selectRows({ first, end }) {
  const some = pages
  const read = await reading(some.read(first, end))
  if (read && isCurrent(some)) select(read)
}

function clear() {
  selected.clear()
  selectionChanged()
}

/** What can be done with the books that are selected. */
export const buttons = () => html`
  ${
    pages.count !== undefined && selected.size < pages.count && pages.count <= MOST
      ? html`<button type="button" @click=${selectAll}>${words.selection.selectAllOf(pages.count)}</button>`
      : nothing
  }
  <button type="button" @click=${() => editSelected(listener)}>${words.selection.edit}</button>
  <button type="button" @click=${() => exportAsCsv(selected.values())}>${words.selection.export}</button>
  <button type="button" class="delete" @click=${() => deleteSelected(listener)}>${words.selection.delete}</button>
  <button type="button" @click=${clear}>${words.selection.clear}</button>
`

/** Selects the book of a row, or no longer. @param {BookPages} pages @param {number} row */
function toggle(pages, row) {
  const book = pages.book(row)
  anchor = { pages, row }
  if (book !== undefined && !selected.delete(book.id)) select([book])
}

/**
 * The rows from the one that was chosen last to another one.
 * @param {BookPages} pages @param {number} row
 * @param {number} [from] where to begin, unless the book of this row is selected.
 */
function rangeTo(pages, row, from = row) {
  const book = pages.book(from)
  const isNew = from !== row && book !== undefined && !selected.has(book.id)
  if (isNew || anchor?.pages !== pages) anchor = { pages, row: from }
  const [first, last] = [Math.min(anchor.row, row), Math.max(anchor.row, row)]
  return { first, end: Math.min(last + 1, first + MOST) }
}
