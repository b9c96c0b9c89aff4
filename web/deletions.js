import { tell } from './notices.js'
import { Away, call, Refused } from './service.js'

/** @typedef {import('./service.js').Book} Book */

/** How long a deletion can be undone, in milliseconds. */
const TIME = 6000

/** @type {Map<number, () => void>} what sends each deletion at once. */
const pending = new Map()

/** The ids of books that are being deleted, and not shown. @type {Set<number>} */
export const hidden = new Set()

/**
 * Deletes a book some seconds later, unless the user undoes it or somebody has changed the book.
 * @param {Book} book
 * @param {string} tag its entity tag.
 * @param {() => void} changed called when the book is to be hidden or shown again.
 */
export function deleteLater(book, tag, changed) {
  hidden.add(book.id)
  changed()
  const dismiss = tell(
    { text: `Deleted “${book.title.slice(0, 60)}”.`, action: { label: 'Undo', run: undo } },
    TIME,
  )
  const timer = setTimeout(() => send(false), TIME)
  pending.set(book.id, () => send(true))

  function undo() {
    stop()
    show()
  }

  function show() {
    hidden.delete(book.id)
    changed()
  }

  function stop() {
    clearTimeout(timer)
    dismiss()
    pending.delete(book.id)
  }

  /** @param {boolean} keepalive whether it has to outlive the page. */
  async function send(keepalive) {
    stop()
    try {
      await call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag }, keepalive })
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return
      const reason =
        error instanceof Refused && error.status === 412
          ? 'somebody has changed it meanwhile'
          : error instanceof Away
            ? 'the service does not answer'
            : String(error)
      show()
      tell({ text: `“${book.title.slice(0, 60)}” was not deleted: ${reason}.` })
    }
  }
}

// A page that is hidden may never be shown again: what was asked for is done. Nothing else tells a phone's page.
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') for (const send of pending.values()) send()
})
