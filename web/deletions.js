import { deleted, replaced } from './changes.js'
import { tell } from './dialog.js'
import { read } from './edit.js'
import { quote } from './fields.js'
import { hidden } from './pages.js'
import { Away, call, pending, Refused } from './service.js'
import { countAgain, deselect, filterOf, select, store } from './store.js'
import { words } from './words.js'

/**
 * @typedef {import('./fields.js').Book} Book
 * @typedef {object} Deletion
 * @property {readonly Book[]} books
 * @property {string} text the notice with which it can be undone.
 * @property {string} what a clause that is true once it is done, such as "2 books were deleted".
 * @property {() => Promise<Rest>} send deletes the books from the catalogue.
 * @property {boolean} [asks] whether the browser asks before it leaves the web page.
 * @typedef {object} Rest what was not deleted.
 * @property {string} [text] the message about it; undefined if all were deleted.
 * @property {readonly Book[]} [changed] kept because somebody else has changed them.
 * @property {readonly Book[]} [left] kept for another reason.
 */

/** Deletes books when its notice ends, unless the user undoes it. @param {Deletion} deletion */
export function deleteLater({ books, text, what, send, asks = false }) {
  const filter = filterOf(store.view)
  const wereSelected = new Set(books.filter(({ id }) => store.selected.has(id)))
  const ids = new Set(books.map(({ id }) => id))
  deselect(ids)
  hide([...hidden.value, ...ids])
  const dismiss = tell({ text, actions: [{ label: words.undo, run: undo }], ended: finish })
  const entry = { what, finish, asks, isDeletion: true }
  pending.add(entry)
  /** @type {Promise<string | undefined> | undefined} */
  let outcome

  function undo() {
    pending.delete(entry)
    show(books, books)
  }

  /** @param {readonly Book[]} some @param {readonly Book[]} again the books that may be selected again. */
  function show(some, again) {
    // Another filter ends the selection.
    if (filterOf(store.view) === filter) select(again.filter((book) => wereSelected.has(book)))
    const shown = new Set(some.map(({ id }) => id))
    hide([...hidden.value].filter((id) => !shown.has(id)))
  }

  function finish() {
    outcome ??= request()
    return outcome
  }

  async function request() {
    dismiss()
    if (document.visibilityState === 'hidden') tell({ text })
    const rest = await send().finally(() => pending.delete(entry))
    const { changed = [], left = [] } = rest
    const kept = new Set([...changed, ...left])
    const gone = books.filter((book) => !kept.has(book))
    if (gone.length > 0) deleted(...gone.map(({ id }) => id))
    if (rest.text === undefined) return undefined
    show([...kept], left)
    tell({ text: rest.text, stays: true, hasClose: true })
    return rest.text
  }
}

/** Sends the deletions that can still be undone, and waits until none is under way. */
export const finishDeletions = () =>
  Promise.all(Array.from(pending, ({ isDeletion, finish }) => isDeletion && finish()))

/** @param {Iterable<number>} ids of all books that are not shown. */
function hide(ids) {
  hidden.value = new Set(ids)
  countAgain()
}

/**
 * Deletes a book later, unless the user undoes it or somebody has changed the book.
 * @param {Book} book @param {string} tag its entity tag.
 */
export function deleteBook(book, tag) {
  const title = quote(book.title)
  /** @returns {Promise<Rest>} */
  async function send() {
    try {
      // `keepalive`, because the web page may be closed before the response arrives.
      await call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag }, keepalive: true })
    } catch (error) {
      const status = error instanceof Refused ? error.status : undefined
      if (status === 412)
        await read(book.id).then(
          (now) => replaced(now.book),
          () => {},
        )
      if (status !== 404)
        return {
          text: words.deletion.failed(title, explain(error)),
          [status === 412 ? 'changed' : 'left']: [book],
        }
    }
    return {}
  }
  const text = words.deletion.deleted(title)
  deleteLater({ books: [book], text, what: words.deletion.deleting(title), send })
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Away) return error.message.replace(/^./, (letter) => letter.toLowerCase())
  if (!(error instanceof Refused)) return String(error)
  if (error.status === 412) return words.deletion.changed
  return error.status === 401 ? words.deletion.loggedOut : error.message
}
