import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { openDialog, restoreFocus } from './list.js'
import { words } from './words.js'

/**
 * @typedef {{ label: string, run: () => void, forPage?: boolean, staysAfter?: boolean }} Action one for the page is
 *   offered while no dialog is open.
 * @typedef {{ text: string, actions?: Action[], progress?: () => number | undefined }} Notice the progress is that of
 *   `progressBar`; `showNotices` shows it anew.
 */

/** How long a notice stays, and how much longer while somebody is at it; in milliseconds. */
const [TIME, LONGER] = [6000, 1000]

/** For a notice that has to be seen: it stays until then. */
export const DISMISS = { label: words.dismiss, run() {} }

/** What takes each away. @type {Map<Notice, () => void>} */
const notices = new Map()

/** Whether the mouse was moved to a notice. One may also appear under a mouse that rests. */
let isPointedAt = false

/**
 * Tells the user something, also by voice. Each of its actions takes the notice away, unless the notice
 * stays after it.
 * @param {Notice} notice
 * @param {number} [time] in milliseconds; infinite for one that stays until an action is chosen. It does not end while
 *   the mouse was moved to a notice, or the keyboard is at one.
 * @param {() => void} [ended] called when the time is over.
 * @returns {() => void} takes it away.
 */
export function tell(notice, time = TIME, ended) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const wait = (/** @type {number} */ span) => {
    timer = setTimeout(() => {
      if (isPointedAt || document.querySelector('#notices:focus-within')) return wait(LONGER)
      dismiss()
      ended?.()
    }, span)
  }
  const dismiss = () => {
    clearTimeout(timer)
    const hadFocus = document.querySelector('#notices:focus-within') !== null
    notices.delete(notice)
    if (notices.size === 0) isPointedAt = false
    showNotices()
    if (hadFocus) restoreFocus()
  }
  // One that only tells replaces the one before.
  if (!notice.actions) for (const [other, dismissOther] of notices) if (!other.actions) dismissOther()
  // A timer cannot be infinite: it would end at once.
  if (Number.isFinite(time)) wait(time)
  notices.set(notice, dismiss)
  showNotices()
  return dismiss
}

const place = () => document.getElementById('notices')

place()?.addEventListener('pointermove', ({ movementX, movementY }) => {
  if (movementX !== 0 || movementY !== 0) isPointedAt = true
})
place()?.addEventListener('pointerleave', () => {
  isPointedAt = false
})

// A modal dialog covers the page, and hides it from screen readers: while one is open, the notices are in it.
new MutationObserver(() => {
  const element = place()
  const around = openDialog() ?? document.body
  if (element === null || element.parentElement === around) return
  // Above the fields of a dialog, so that they never cover its buttons.
  if (around === document.body) around.append(element)
  else around.prepend(element)
  showNotices()
}).observe(document.body, { subtree: true, attributeFilter: ['open'] })

/** Shows them as they are now. */
export function showNotices() {
  const element = place()
  if (element === null) return
  render(
    repeat(
      notices,
      ([notice]) => notice,
      ([{ text, actions = [], progress }, dismiss]) => html`<div class="notice">
        <span>${sentence(text)}</span>
        ${progress ? progressBar(progress()) : nothing}
        ${actions.map(({ label, run, forPage = false, staysAfter = false }) => {
          if (forPage && openDialog() !== undefined) return nothing
          const choose = () => {
            run()
            if (!staysAfter) dismiss()
          }
          return html`<button type="button" @click=${choose}>${label}</button>`
        })}
      </div>`,
    ),
    element,
  )
}

/** Each quoted title has a direction of its own. @param {string} text */
const sentence = (text) =>
  text.split(/“(.*)”/).map((part, index) => (index % 2 === 0 ? part : html`“<bdi>${part}</bdi>”`))

/** @param {number | undefined} part from 0 to 1; undefined if nobody knows. */
export const progressBar = (part) =>
  part === undefined
    ? html`<progress aria-label=${words.progress}></progress>`
    : html`<progress aria-label=${words.progress} max="1" .value=${part}></progress>`
