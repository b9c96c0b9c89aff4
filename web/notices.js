import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { openDialog, restoreFocus } from './list.js'
import { words } from './words.js'

/**
 * @typedef {{ label: string, run: () => void, opensDialog?: boolean }} Action one that opens a dialog is offered once no
 *   other dialog is open.
 * @typedef {{ text: string, actions?: Action[] }} Notice
 */

/** How long a notice stays, and how much longer while somebody is at it; in milliseconds. */
const [TIME, LONGER] = [6000, 1000]

/** For a notice that has to be seen: it stays until then. */
export const DISMISS = { label: words.dismiss, run() {} }

/** What takes each away. @type {Map<Notice, () => void>} */
const notices = new Map()

/**
 * Tells the user something, also by voice. One of its actions takes the notice away.
 * @param {Notice} notice
 * @param {number} [time] in milliseconds; infinite for one that stays until an action is chosen. It does not end while
 *   the mouse or the keyboard is at a notice.
 * @param {() => void} [ended] called when the time is over.
 * @returns {() => void} takes it away.
 */
export function tell(notice, time = TIME, ended) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const wait = (/** @type {number} */ span) => {
    timer = setTimeout(() => {
      if (document.querySelector('#notices:is(:hover, :focus-within)')) return wait(LONGER)
      dismiss()
      ended?.()
    }, span)
  }
  const dismiss = () => {
    clearTimeout(timer)
    const hadFocus = document.querySelector('#notices:focus-within') !== null
    notices.delete(notice)
    show()
    if (hadFocus) restoreFocus()
  }
  // One that only tells replaces the one before.
  if (!notice.actions) for (const [other, dismissOther] of notices) if (!other.actions) dismissOther()
  // A timer cannot be infinite: it would end at once.
  if (Number.isFinite(time)) wait(time)
  notices.set(notice, dismiss)
  show()
  return dismiss
}

const place = () => document.getElementById('notices')

// A modal dialog covers the page, and hides it from screen readers: while one is open, the notices are in it.
new MutationObserver(() => {
  const element = place()
  const around = openDialog() ?? document.body
  if (element === null || element.parentElement === around) return
  // Above the fields of a dialog, so that they never cover its buttons.
  if (around === document.body) around.append(element)
  else around.prepend(element)
  show()
}).observe(document.body, { subtree: true, attributeFilter: ['open'] })

function show() {
  const element = place()
  if (element === null) return
  render(
    repeat(
      notices,
      ([notice]) => notice,
      ([{ text, actions = [] }, dismiss]) => html`<div class="notice">
        <span>${sentence(text)}</span>
        ${actions.map(({ label, run, opensDialog = false }) => {
          if (opensDialog && openDialog() !== undefined) return nothing
          const choose = () => {
            run()
            dismiss()
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
