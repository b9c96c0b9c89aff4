import { DISMISS, tell } from './notices.js'
import { hidden } from './pages.js'
import { pending } from './pending.js'
import { Away, call, Refused } from './service.js'
import { quote } from './text.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ deletionsChanged(): void, deleted(...ids: number[]): void }} Listener
 */

/** How long a deletion can be undone, in milliseconds. */
export const UNDO_TIME = 6000

/**
 * Deletes a book some seconds later, unless the user undoes it or somebody has changed the book.
 * @param {Book} book
 * @param {string} tag its entity tag.
 * @param {Listener} listener told when the book is to be hidden or shown again, and when it is no longer stored.
 */
export function deleteLater(book, tag, listener) {
  const title = quote(book.title)
  hidden.add(book.id)
  listener.deletionsChanged()
  const dismiss = tell(
    { text: words.deletion.deleted(title), actions: [{ label: words.undo, run: undo }] },
    UNDO_TIME,
    send,
  )
  const deletion = { what: words.deletion.deleting(title), finish: send }
  pending.add(deletion)
  /** @type {Promise<string | undefined> | undefined} */
  let outcome

  function undo() {
    pending.delete(deletion)
    show()
  }

  function show() {
    hidden.delete(book.id)
    listener.deletionsChanged()
  }

  function send() {
    outcome ??= request()
    return outcome
  }

  async function request() {
    dismiss()
    try {
      // The page may be closed before the answer.
      await call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag }, keepalive: true })
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) {
        const text = words.deletion.failed(title, explain(error))
        show()
        tell({ text, actions: [DISMISS] }, Number.POSITIVE_INFINITY)
        return text
      }
    } finally {
      pending.delete(deletion)
    }
    listener.deleted(book.id)
    return undefined
  }
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Away) return words.deletion.away
  if (!(error instanceof Refused)) return String(error)
  if (error.status === 412) return words.deletion.changed
  return error.status === 401 ? words.deletion.loggedOut : error.message
}
