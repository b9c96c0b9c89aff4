import { explain, openTask, remove } from './many.js'
import { DISMISS, tell } from './notices.js'
import { MOST } from './selection.js'
import { Away, call, nextPath, Refused } from './service.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {object} Listener
 * @property {() => void} changed called when books may have been stored or deleted.
 * @property {(books: readonly Book[]) => void} show shows the newest books, and selects these.
 */

/** Books that are asked for at once. */
const PAGE_LENGTH = 1000

/** Takes away what was told of the import before. */
let dismiss = () => {}

/** The highest id of a book, 0 if there is none. */
export async function newestId() {
  const [book] = await newest(1)
  return book?.id ?? 0
}

/**
 * The books that were added after another one, the last one first.
 * @param {number} id that of the other one. @param {number} most as many as are looked for.
 * @returns {Promise<Book[]>} more than so many if there are more.
 */
export async function booksAfter(id, most) {
  /** @type {Book[]} */
  const found = []
  for (let path = firstPage(PAGE_LENGTH); ; ) {
    const response = await call('GET', path)
    /** @type {{ data: Book[] }} */
    const { data } = await response.json()
    const added = data.filter((book) => book.id > id)
    found.push(...added)
    const next = nextPath(response)
    if (added.length < data.length || next === undefined || found.length > most) return found
    path = next
  }
}

/** @param {number} limit */
const firstPage = (limit) => `/books?sort=-id&limit=${limit}`

/** @param {number} limit @returns {Promise<Book[]>} */
async function newest(limit) {
  return (await (await call('GET', firstPage(limit))).json()).data
}

/**
 * Says how many books an import has added, and offers to show them and to delete them again.
 * @param {string} text what to say.
 * @param {string} name that of the file.
 * @param {number} added how many they are.
 * @param {number} before the highest id of a book before the import.
 * @param {Listener} listener
 */
export async function tellImported(text, name, added, before, listener) {
  const books = added > MOST ? [] : await booksAfter(before, added).catch(none)
  // Others may have added books meanwhile, which nothing tells from those of the file.
  const isExact = books.length === added
  /** @type {import('./notices.js').Action[]} */
  const actions = [
    {
      label: words.import.show,
      run: () => listener.show(isExact ? books : []),
      forPage: true,
      staysAfter: isExact,
    },
  ]
  if (isExact)
    actions.push({
      label: words.import.undo,
      run: () => undoImport(name, books, listener, dismissThis),
      forPage: true,
      staysAfter: true,
    })
  dismiss()
  const dismissThis = tell({ text, actions: [...actions, DISMISS] }, Number.POSITIVE_INFINITY)
  dismiss = dismissThis
}

/** The file was imported, even if its books cannot be read now. @param {unknown} error @returns {Book[]} */
function none(error) {
  if (error instanceof Away || error instanceof Refused) return []
  throw error
}

/**
 * @param {string} name @param {readonly Book[]} books @param {Listener} listener
 * @param {() => void} undone called once nothing is left to be undone.
 */
function undoImport(name, books, { changed }, undone) {
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
      changed()
    },
  })
}
