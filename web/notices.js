import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { icon } from './icons.js'
import { openDialog, restoreFocus } from './list.js'
import { words } from './words.js'

/**
 * @typedef {{ label: string, run: () => void, forPage?: boolean, staysAfter?: boolean }} Action `forPage`:
 *   offered only while no dialog is open. `staysAfter`: does not remove the notice.
 * @typedef {{ text: string, actions?: Action[], isUndo?: boolean, progress?: () => number | undefined }} Notice
 *   `isUndo`: its first action undoes what it tells. `progress` as in `progressBar`; `showNotices` reads it again.
 */

/** How long a notice stays, and how much longer while the mouse or the keyboard is at it, in milliseconds. */
const [TIME, LONGER] = [6000, 1000]

/** The last action of a notice that stays until it has been seen. */
export const DISMISS = { label: words.dismiss, run() {} }

/**
 * The notices that are shown, each with what removes it, and what ends its time.
 * @type {Map<Notice, { dismiss: () => void, end: () => void, hasEnd: boolean }>}
 */
const notices = new Map()

/** Whether the mouse was moved to a notice. A notice that appears under a resting mouse does not count. */
let isPointedAt = false

/**
 * Shows a notice, which screen readers announce.
 * @param {Notice} notice
 * @param {number} [time] in milliseconds; infinite for a notice that stays until an action is chosen. The time does not
 *   end while the mouse was moved to a notice, or the keyboard is at one.
 * @param {() => void} [ended] called when the time is over.
 * @returns {() => void} removes the notice.
 */
export function tell(notice, time = TIME, ended) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const wait = (/** @type {number} */ span) => {
    timer = setTimeout(() => {
      if (isPointedAt || document.querySelector('#notices:focus-within')) return wait(LONGER)
      end()
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
  const end = () => {
    dismiss()
    ended?.()
  }
  // A notice replaces the previous one of its kind. Those without an end stay until an action is chosen.
  const hasEnd = Number.isFinite(time)
  for (const [other, entry] of notices)
    if (hasEnd && entry.hasEnd && notice.isUndo === other.isUndo) entry.end()
  // An infinite timer would end at once.
  if (hasEnd) wait(time)
  notices.set(notice, { dismiss, end, hasEnd })
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

// A modal dialog covers the web page and hides it from screen readers. While one is open, the notices are in it.
new MutationObserver(() => {
  const element = place()
  const around = openDialog() ?? document.body
  if (element === null || element.parentElement === around) return
  // Above the fields of a dialog, so that they never cover its buttons.
  if (around === document.body) around.append(element)
  else around.prepend(element)
  showNotices()
}).observe(document.body, { subtree: true, attributeFilter: ['open'] })

/** Renders the notices with their present progress. */
export function showNotices() {
  const element = place()
  if (element === null) return
  render(
    repeat(
      notices,
      ([notice]) => notice,
      ([{ text, actions = [], isUndo, progress }, { dismiss, end, hasEnd }]) => html`<div class="notice">
        <span>${sentence(text)}</span>
        ${progress ? progressBar(progress()) : nothing}
        ${actions.map((action) => {
          const { label, run, forPage = false, staysAfter = false } = action
          if (action === DISMISS || (forPage && openDialog() !== undefined)) return nothing
          const choose = () => {
            run()
            if (!staysAfter) dismiss()
          }
          return html`<button type="button" @click=${choose}>${label}</button>`
        })}
        ${hasEnd || actions.includes(DISMISS) ? html`<button type="button" class="close" aria-label=${words.dismiss} @click=${end}>${icon('close')}</button>` : nothing}
        ${isUndo ? html`<div class="time"></div>` : nothing}
      </div>`,
    ),
    element,
  )
}

/** Gives a quoted title a text direction of its own. @param {string} text */
const sentence = (text) =>
  text.split(/“(.*)”/).map((part, index) => (index % 2 === 0 ? part : html`“<bdi>${part}</bdi>”`))

/** @param {number | undefined} part from 0 to 1; undefined if unknown. */
export const progressBar = (part) =>
  part === undefined
    ? html`<progress aria-label=${words.progress}></progress>`
    : html`<progress aria-label=${words.progress} max="1" .value=${part}></progress>`
