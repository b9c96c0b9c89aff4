import { tell } from './dialog.js'
import { isSame, quote, readYear } from './fields.js'
import { reveal, rowsInSight } from './list.js'
import { readPage } from './pages.js'
import { changed, deselect, load, select, showAll, sortBy, store } from './store.js'
import { words } from './words.js'

/** Updates the list when books are added, edited, deleted or imported. */

/** @typedef {import('./fields.js').Book} Book */

/**
 * Whether a book matches a view. True if the service cannot tell, because its search index is incomplete.
 * @param {Book} book @param {import('./store.js').View} view
 */
async function isIn({ id, title, author, year }, view) {
  const [from = year, to = year] = [readYear(view.yearMin), readYear(view.yearMax)]
  if (year < from || year > to || (view.author !== '' && view.author !== author)) return false
  if (view.q.trim() === '') return true
  const parameters = new URLSearchParams({ q: view.q, title, author, year: String(year), limit: '1000' })
  const { books, isPartial } = await readPage(`/books?${parameters}`)
  return isPartial || books.some((book) => book.id === id)
}

/** Scrolls to a new book and marks it, or keeps the place and says that it is too far down the list. @param {Book} book */
async function show(book) {
  const pages = load(rowsInSight().top)
  const row = await pages.find(book.id)
  if (pages !== store.pages) return
  if (row !== undefined) {
    store.marked = book.id
    pages.startRow = 0
    return reveal(row)
  }
  const actions = [{ label: words.list.newestFirst, run: () => showFirst(book) }]
  if (!pages.isComplete && pages.error === undefined)
    tell({ text: words.list.tooFar(quote(book.title)), actions })
}

/** Lists the newest books first, of which this one is marked. @param {Book} book */
function showFirst({ id }) {
  store.marked = id
  sortBy('-id')
}

/** @param {string} text */
const tellElsewhere = (text) => tell({ text, actions: [{ label: words.showAll, run: showAll }] })

/** @param {Book} book a new one. */
export async function created(book) {
  const { view } = store
  const isThere = await isIn(book, view).catch(() => true)
  if (view !== store.view) return
  if (isThere) return show(book)
  tellElsewhere(words.list.newElsewhere(quote(book.title)))
}

/** Shows a book as it is now, in the place that it has in the list. @param {Book} book */
export function replaced(book) {
  const row = store.pages?.rowOf(book.id)
  const shown = row === undefined ? undefined : store.pages.book(row)
  if (!shown || !isSame(shown, book)) store.pages?.replace(book)
  if (store.selected.has(book.id)) select([book])
}

/** @param {Book} book as it is now. If it no longer matches the view, it leaves the list. */
export async function updated(book) {
  replaced(book)
  const { view } = store
  const isThere = await isIn(book, view).catch(() => true)
  if (view === store.view && !isThere) {
    deselect([book.id])
    store.pages?.remove(book.id)
    tellElsewhere(words.list.movedElsewhere(quote(book.title)))
  }
  changed()
}

/** @param {readonly number[]} ids of books that are no longer stored. */
export function deleted(...ids) {
  deselect(ids)
  store.pages?.remove(...ids)
  changed()
}
