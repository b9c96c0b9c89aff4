import { tell } from './dialog.js'
import { rowsInSight } from './list.js'
import { explain, openTask, remove } from './many.js'
import { hidden, readPage } from './pages.js'
import { Away, Refused } from './service.js'
import { change, EVERYTHING, load, MOST, reading, select, store } from './store.js'
import { words } from './words.js'

/** What an import has added, and how to undo it. */

/** @typedef {import('./fields.js').Book} Book */

const PAGE_LENGTH = 1000

/** Removes the notice about the previous import. */
let dismiss = () => {}

/** The highest id of a book; 0 if there is none. */
export async function newestId() {
  const { books } = await readPage(firstPage(1))
  return books[0]?.id ?? 0
}

/**
 * Reads the books with a higher id than this one, the newest first.
 * @param {number} id @param {number} most stops when there are more than these.
 * @returns {Promise<Book[]>} more than `most` if there are more.
 */
export async function booksAfter(id, most) {
  /** @type {Book[]} */
  const found = []
  for (let path = firstPage(PAGE_LENGTH); ; ) {
    const { books, next } = await readPage(path)
    const added = books.filter((book) => book.id > id)
    found.push(...added)
    if (added.length < books.length || next === undefined || found.length > most) return found
    path = next
  }
}

/** @param {number} limit */
const firstPage = (limit) => `/books?sort=-id&limit=${limit}`

/**
 * Reports an import, and offers to show its books and to delete them again.
 * @param {string} text says how many books were added. @param {string} name of the file. @param {number} added
 * @param {number} before the highest id of a book before the import.
 */
export async function tellImported(text, name, added, before) {
  // An earlier attempt, whose response was lost, or another tab has stored the books.
  if (added === 0) return void tell({ text: words.import.doneBefore })
  let books = added > MOST ? [] : await booksAfter(before, added).catch(none)
  // If others have added books meanwhile, nothing tells theirs from those of the file.
  const isExact = books.length === added
  /** @type {import('./dialog.js').Action[]} */
  const actions = [
    {
      label: words.import.show,
      run: () => void showNewest(before, isExact ? books : []),
      forPage: true,
      staysAfter: isExact,
    },
  ]
  if (isExact)
    actions.push({
      label: words.import.undo,
      run: () =>
        undoImport(name, books, ({ changed, left }) => {
          books = [...changed, ...left]
          if (left.length === 0) dismissThis()
        }),
      forPage: true,
      staysAfter: true,
    })
  dismiss()
  const dismissThis = tell({ text, actions, stays: true, hasClose: true })
  dismiss = dismissThis
}

/**
 * Lists all books, the newest first, and selects those of an import that are still there, as they are now.
 * @param {number} before the highest id of a book before the import. @param {readonly Book[]} books as imported.
 */
async function showNewest(before, books) {
  change({ ...EVERYTHING, sort: '' }, 'chosen')
  select([], true)
  if (books.length === 0) return
  const { view } = store
  const ids = new Set(books.map(({ id }) => id))
  // Others may have been added since.
  const now = (await reading(booksAfter(before, MOST + books.length))) ?? []
  if (view === store.view) select(now.filter(({ id }) => ids.has(id) && !hidden.value.has(id)))
}

/** The import has succeeded even if its books cannot be read now. @param {unknown} error @returns {Book[]} */
function none(error) {
  if (error instanceof Away || error instanceof Refused) return []
  throw error
}

/**
 * @param {string} name @param {readonly Book[]} books
 * @param {(outcome: import('./many.js').Outcome) => void} ended
 */
function undoImport(name, books, ended) {
  openTask({
    heading: words.import.undo,
    text: words.import.undoQuestion(name, books.length),
    action: words.many.delete(books.length),
    isDeletion: true,
    running: words.many.deletingNow(books.length),
    what: words.many.deleting(books.length),
    begin: () => ({ books, act: remove }),
    tell: (outcome) => explain(outcome, words.many.deleted(outcome.done.length)),
    ended(outcome) {
      ended(outcome)
      load(rowsInSight().top)
    },
  })
}
