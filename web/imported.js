import { showNewest } from './changes.js'
import { tell } from './dialog.js'
import { explain, openTask, remove } from './many.js'
import { readPage } from './pages.js'
import { Away, Refused } from './service.js'
import { load, MOST } from './store.js'
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
  const books = added > MOST ? [] : await booksAfter(before, added).catch(none)
  // If others have added books meanwhile, nothing tells theirs from those of the file.
  const isExact = books.length === added
  /** @type {import('./dialog.js').Action[]} */
  const actions = [
    {
      label: words.import.show,
      run: () => showNewest(isExact ? books : []),
      forPage: true,
      staysAfter: isExact,
    },
  ]
  if (isExact)
    actions.push({
      label: words.import.undo,
      run: () => undoImport(name, books, dismissThis),
      forPage: true,
      staysAfter: true,
    })
  dismiss()
  const dismissThis = tell({ text, actions, stays: true, hasClose: true })
  dismiss = dismissThis
}

/** The import has succeeded even if its books cannot be read now. @param {unknown} error @returns {Book[]} */
function none(error) {
  if (error instanceof Away || error instanceof Refused) return []
  throw error
}

/**
 * @param {string} name @param {readonly Book[]} books
 * @param {() => void} undone called once nothing is left to undo.
 */
function undoImport(name, books, undone) {
  openTask({
    heading: words.import.undo,
    text: words.import.undoQuestion(name, books.length),
    action: words.many.delete(books.length),
    isDeletion: true,
    running: words.many.deletingNow(books.length),
    what: words.many.deleting(books.length),
    begin: () => ({ books, act: remove }),
    tell: (outcome) => explain(outcome, words.many.deleted(outcome.done.length)),
    ended({ left }) {
      if (left.length === 0) undone()
      load()
    },
  })
}
