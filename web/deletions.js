import { DISMISS, tell } from './notices.js'
import { hidden, select, selected } from './pages.js'
import { Away, call, pending, Refused } from './service.js'
import { quote } from './text.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ deletionsChanged(): void, deleted(...ids: number[]): void, filter(): string }} Listener notified when
 *   books are hidden or shown again, and when they are no longer stored.
 * @typedef {object} Deletion
 * @property {readonly Book[]} books
 * @property {string} text the notice with which it can be undone.
 * @property {string} what a clause that is true once it is done, such as "2 books were deleted".
 * @property {() => Promise<Rest>} send deletes the books from the catalogue.
 * @typedef {object} Rest what was not deleted.
 * @property {string} [text] the message about it; undefined if all were deleted.
 * @property {readonly Book[]} [changed] kept because somebody else has changed them.
 * @property {readonly Book[]} [left] kept for another reason.
 */

/** How long a deletion can be undone, in milliseconds. */
const UNDO_TIME = 6000

/**
 * Deletes books after `UNDO_TIME`, unless the user undoes it.
 * @param {Deletion} deletion @param {Listener} listener
 * @returns {Promise<unknown>} resolves when the books are deleted or the user has undone it.
 */
export function deleteLater({ books, text, what, send }, listener) {
  const filter = listener.filter()
  const wereSelected = new Set(books.filter(({ id }) => selected.delete(id)))
  for (const { id } of books) hidden.add(id)
  listener.deletionsChanged()
  const { promise: ended, resolve } = Promise.withResolvers()
  const dismiss = tell({ text, actions: [{ label: words.undo, run: undo }], isUndo: true }, UNDO_TIME, finish)
  const entry = { what, finish }
  pending.add(entry)
  /** @type {Promise<string | undefined> | undefined} */
  let outcome

  function undo() {
    end()
    show(books, books)
  }

  function end() {
    pending.delete(entry)
    resolve(undefined)
  }

  /** @param {readonly Book[]} some @param {readonly Book[]} again the books that may be selected again. */
  function show(some, again) {
    for (const { id } of some) hidden.delete(id)
    // Another filter ends the selection.
    if (listener.filter() === filter) select(again.filter((book) => wereSelected.has(book)))
    listener.deletionsChanged()
  }

  function finish() {
    outcome ??= request()
    return outcome
  }

  async function request() {
    dismiss()
    if (document.visibilityState === 'hidden') tell({ text })
    const rest = await send().finally(end)
    const { changed = [], left = [] } = rest
    const kept = new Set([...changed, ...left])
    const gone = books.filter((book) => !kept.has(book))
    if (gone.length > 0) listener.deleted(...gone.map(({ id }) => id))
    if (rest.text === undefined) return undefined
    show([...kept], left)
    tell({ text: rest.text, actions: [DISMISS] }, Number.POSITIVE_INFINITY)
    return rest.text
  }

  return ended
}

/**
 * Deletes a book after `UNDO_TIME`, unless the user undoes it or somebody has changed the book.
 * @param {Book} book @param {string} tag its entity tag. @param {Listener} listener
 */
export function deleteBook(book, tag, listener) {
  const title = quote(book.title)
  /** @returns {Promise<Rest>} */
  async function send() {
    try {
      // `keepalive`, because the web page may be closed before the response arrives.
      await call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag }, keepalive: true })
    } catch (error) {
      const status = error instanceof Refused ? error.status : undefined
      if (status !== 404)
        return {
          text: words.deletion.failed(title, explain(error)),
          [status === 412 ? 'changed' : 'left']: [book],
        }
    }
    return {}
  }
  const { deleted, deleting } = words.deletion
  void deleteLater({ books: [book], text: deleted(title), what: deleting(title), send }, listener)
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Away) return error.message.replace(/^./, (letter) => letter.toLowerCase())
  if (!(error instanceof Refused)) return String(error)
  if (error.status === 412) return words.deletion.changed
  return error.status === 401 ? words.deletion.loggedOut : error.message
}
