import { filterOf } from './address.js'
import { mark, showRow } from './list.js'
import { change, changed, countAgain, drawRows, EVERYTHING, load, pages, showAll, view } from './listing.js'
import { tell } from './notices.js'
import { isIn, select, selected } from './pages.js'
import { quote } from './text.js'
import { words } from './words.js'

/** @typedef {import('./service.js').Book} Book */

/** Scrolls to a new book and marks it, or says that it is too far down the list. @param {Book} book */
async function show(book) {
  const next = load()
  const row = await next.find(book.id)
  if (next !== pages) return
  if (row !== undefined) return showRow(row, next.length, book.id, drawRows)
  const actions = [{ label: words.list.newestFirst, run: () => showFirst(book) }]
  if (!pages.isComplete && pages.error === undefined)
    tell({ text: words.list.tooFar(quote(book.title)), actions })
}

/** Lists the newest books first, of which this one is marked. @param {Book} book */
function showFirst({ id }) {
  mark(id)
  change({ sort: '-id' }, 'chosen')
}

/** Updates the list, and says so if the book does not match the view. @param {Book} book @param {boolean} isNew */
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

/** Updates the list when books are added, edited or deleted. @type {import('./editor.js').Listener} */
export const bookListener = {
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
  filter: () => filterOf(view),
}

/** Lists all books, the newest first, and selects these. @param {readonly Book[]} books */
function showNewest(books) {
  change({ ...EVERYTHING, sort: '-id' }, 'chosen')
  selected.clear()
  select(books)
}

/** Updates the list after imports. @type {import('./imported.js').Listener} */
export const importListener = { changed: load, show: showNewest }
